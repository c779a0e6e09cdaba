/* The processes of a case: forked before any verbs call, each a small server that does what it is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { DIRECTOR, SERVER };
/* Long even for an emulated processor under load. */
enum { PATIENCE_MS = 20000 };

static struct {
	pid_t pid;
	int control[2];
	/* A letterbox takes file descriptors from any actor. Only its owner can read it: what lies there dies with it. */
	int letterbox[2];
} actors[ACTORS];

static int self;

static void make_pair(int pair[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)) {
		perror("truth: socketpair");
		exit(2);
	}
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* An actor that is to be born by another one's fork finds its ends open in that one. */
static void become_actor(int actor, const bool wanted[ACTORS])
{
	self = actor;
	for (int i = 0; i < ACTORS; i++) {
		close_one(&actors[i].control[DIRECTOR]);
		if (i == actor || !wanted[i])
			continue;
		close_one(&actors[i].control[SERVER]);
		close_one(&actors[i].letterbox[SERVER]);
	}
	actor_serve(actor);
}

void actor_serve(int actor)
{
	struct request request;

	self = actor;
	/* What a guard calls this process. */
	prctl(PR_SET_NAME, (char[]){ 'A' + actor, 0 });
	while (recv(actors[actor].control[SERVER], &request, sizeof(request), 0) == sizeof(request)) {
		struct reply reply = { 0 };

		perform(&request, &reply);
		reply.pid = getpid();
		if (send(actors[actor].control[SERVER], &reply, sizeof(reply), MSG_NOSIGNAL) != sizeof(reply))
			break;
	}
	_exit(0);
}

void actors_start(const bool wanted[ACTORS])
{
	/* Processes that an actor forked are to be waited for here too. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	for (int i = 0; i < ACTORS; i++) {
		make_pair(actors[i].control);
		make_pair(actors[i].letterbox);
		actors[i].pid = 0;
	}
	for (int i = 0; i < ACTORS; i++) {
		if (!wanted[i])
			continue;
		actors[i].pid = fork();
		if (actors[i].pid < 0) {
			perror("truth: fork");
			exit(2);
		}
		if (!actors[i].pid)
			become_actor(i, wanted);
	}
	for (int i = 0; i < ACTORS; i++) {
		close_one(&actors[i].control[SERVER]);
		close_one(&actors[i].letterbox[DIRECTOR]);
		close_one(&actors[i].letterbox[SERVER]);
	}
}

bool actor_send(int actor, const struct request *request)
{
	return send(actors[actor].control[DIRECTOR], request, sizeof(*request), MSG_NOSIGNAL) == sizeof(*request);
}

struct reply actor_receive(int actor)
{
	struct pollfd ready = { .fd = actors[actor].control[DIRECTOR], .events = POLLIN };
	struct reply reply = { .result = SILENT };

	if (poll(&ready, 1, PATIENCE_MS) != 1)
		return reply;
	if (recv(ready.fd, &reply, sizeof(reply), 0) != sizeof(reply))
		reply.result = DIED;
	else
		actors[actor].pid = reply.pid;
	return reply;
}

void actor_is_born(int actor, pid_t pid)
{
	actors[actor].pid = pid;
}

/* Also one that another actor forked, which only that one can wait for. */
static bool ends_within(int actor, int ms)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, actors[actor].pid, 0), .events = POLLIN };
	bool ended = end.fd < 0 || poll(&end, 1, ms) == 1;

	close_one(&end.fd);
	return ended;
}

static void wait_for(int actor)
{
	if (actors[actor].pid) {
		ends_within(actor, PATIENCE_MS);
		waitpid(actors[actor].pid, NULL, 0);
	}
	actors[actor].pid = 0;
	close_one(&actors[actor].control[DIRECTOR]);
}

void actor_kill(int actor)
{
	if (actors[actor].pid)
		kill(actors[actor].pid, SIGKILL);
	wait_for(actor);
}

/* Its control socket is all an actor lives for. One that is stuck in a call is killed. */
void actor_quit(int actor)
{
	close_one(&actors[actor].control[DIRECTOR]);
	if (actors[actor].pid)
		ends_within(actor, PATIENCE_MS);
	actor_kill(actor);
}

/* exit(), with all that runs then. */
bool actor_exit(int actor)
{
	struct request request = { .verb = "exit" };
	bool ended = actor_send(actor, &request) && ends_within(actor, PATIENCE_MS);

	actor_kill(actor);
	return ended;
}

void actors_end(void)
{
	/* All at once first, for a forked one may hold another's sockets. */
	for (int i = 0; i < ACTORS; i++)
		close_one(&actors[i].control[DIRECTOR]);
	for (int i = 0; i < ACTORS; i++)
		actor_quit(i);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int letterbox_send(int to, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	return sendmsg(actors[to].letterbox[DIRECTOR], &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

int letterbox_receive(void)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 };
	char text;
	struct iovec byte = { .iov_base = &text, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *rights;
	int fd = -1;

	if (recvmsg(actors[self].letterbox[SERVER], &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	rights = CMSG_FIRSTHDR(&message);
	if (rights)
		memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	return fd;
}
