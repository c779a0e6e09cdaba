/*
 * Actors: processes that share a device file, each guarded by itself. A director, which makes no verbs call, starts
 * them before there is any verbs call, and asks one at a time to take a step; so what happens, and the trace, has one
 * order. They pass descriptors as unrelated programs do. With ACTORS=exec in the environment each one is a program of
 * its own, started anew; otherwise the director's child.
 *
 * A step is a function that the director names and an actor calls: `ask(B, reg, 0)`. What an actor holds is in globals,
 * of which each process has its own.
 */
#ifndef ACTORS_H
#define ACTORS_H

#include "../common/trace.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

struct actor {
	pid_t pid;
	int socket;
};

typedef long step_function(long);

#define ACTORS_FD "ACTORS_FD"

static struct ibv_context *context __attribute__((unused));
static struct ibv_pd *pd __attribute__((unused));
static struct ibv_mr *mr __attribute__((unused));
static struct mlx5dv_devx_umem *umem __attribute__((unused));
static int director_socket = -1;
static int worst_status;

/* Steps are named by their distance from this: another start of the same program may lie elsewhere. */
static long actors_anchor(long unused)
{
	return unused;
}

static void send_all(int socket, const void *data, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *header;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(int));
	}
	MUST(sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size);
}

/* 0 where the other side is gone; *fd is -1 where none came along. */
static ssize_t receive(int socket, void *data, size_t size, int *fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { data, size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*fd = -1;
	if (got > 0 && header && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(int));
	return got;
}

struct request {
	ptrdiff_t step;
	long argument;
#ifdef NEEDS_UMEM_EXPORT
	struct blob blob;
#endif
};

struct answer {
	long value;
#ifdef NEEDS_UMEM_EXPORT
	struct blob blob;
#endif
};

#ifdef NEEDS_UMEM_EXPORT
static struct blob blob __attribute__((unused));
#endif

/* A descriptor that comes with a step, and one that goes with its answer. */
static int fd_in = -1, fd_out = -1;

static void serve(void)
{
	struct request request;

	while (receive(director_socket, &request, sizeof(request), &fd_in) == sizeof(request)) {
		struct answer answer = { 0 };

		/* The anchor itself is no step but the end. */
		if (!request.step)
			break;

#ifdef NEEDS_UMEM_EXPORT
		blob = request.blob;
#endif
		answer.value = ((step_function *)((char *)actors_anchor + request.step))(request.argument);
#ifdef NEEDS_UMEM_EXPORT
		answer.blob = blob;
#endif
		fflush(stdout);
		send_all(director_socket, &answer, sizeof(answer), fd_out);
		fd_out = -1;
	}
	exit(0);
}

/* First in main: an actor that was started as a program of its own never comes back. */
static void actors(void)
{
	const char *socket = getenv(ACTORS_FD);

	if (!socket)
		return;
	director_socket = atoi(socket);
	prctl(PR_SET_NAME, getenv("ACTORS_NAME"));
	serve();
}

static struct actor start_as(const char *name, const char *preload)
{
	const char *how = getenv("ACTORS");
	int pair[2];
	pid_t pid;

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid > 0) {
		close(pair[1]);
		return (struct actor){ pid, pair[0] };
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[0]);
	director_socket = pair[1];
	if (preload || (how && strcmp(how, "exec") == 0)) {
		char number[16];

		snprintf(number, sizeof(number), "%d", fcntl(pair[1], F_DUPFD, 3));
		setenv(ACTORS_FD, number, 1);
		setenv("ACTORS_NAME", name, 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl("/proc/self/exe", name, (char *)NULL);
		MUST(!"exec");
	}
	prctl(PR_SET_NAME, name);
	serve();
	exit(0);
}

static struct actor start(const char *name)
{
	return start_as(name, NULL);
}

/* LD_PRELOAD without the guard. */
__attribute__((unused)) static struct actor start_unguarded(const char *name)
{
	static char left[4096];
	const char *all = getenv("LD_PRELOAD");
	char *copy = strdup(all ? all : ""), *rest = copy, *one;

	while ((one = strsep(&rest, ": ")))
		if (*one && !strstr(one, "libverbsguard.so")) {
			strcat(left, *left ? ":" : "");
			strcat(left, one);
		}
	free(copy);
	return start_as(name, left);
}

/* Asks an actor to take a step. The blob and `fd` go along. */
static void request_step(struct actor actor, step_function *step, long argument, int fd)
{
	struct request request = { .step = (char *)step - (char *)actors_anchor, .argument = argument };

#ifdef NEEDS_UMEM_EXPORT
	request.blob = blob;
#endif
	send_all(actor.socket, &request, sizeof(request), fd);
}

/* The step's value. The blob and *fd come back. */
static long take_answer(struct actor actor, int *fd)
{
	struct answer answer;

	MUST(receive(actor.socket, &answer, sizeof(answer), fd) == sizeof(answer));
#ifdef NEEDS_UMEM_EXPORT
	blob = answer.blob;
#endif
	return answer.value;
}

/* Has an actor take a step, with a descriptor each way: *fd, -1 for none. */
static long ask_with(struct actor actor, step_function *step, long argument, int *fd)
{
	request_step(actor, step, argument, *fd);
	return take_answer(actor, fd);
}

static long ask(struct actor actor, step_function *step, long argument)
{
	int fd = -1;

	return ask_with(actor, step, argument, &fd);
}

__attribute__((unused)) static void end(struct actor actor)
{
	struct request request = { 0 };
	int status;

	/* Asked for, not told by a closed socket: actors that were forked later have a copy of it. */
	send_all(actor.socket, &request, sizeof(request), -1);
	MUST(waitpid(actor.pid, &status, 0) == actor.pid);
	MUST(WIFEXITED(status));
	close(actor.socket);
	if (WEXITSTATUS(status) > worst_status)
		worst_status = WEXITSTATUS(status);
}

__attribute__((unused)) static void kill_actor(struct actor actor)
{
	int status;

	kill(actor.pid, SIGKILL);
	close(actor.socket);
	MUST(waitpid(actor.pid, &status, 0) == actor.pid && WIFSIGNALED(status));
}

/* Steps that most programs need. */

__attribute__((unused)) static long opens(long unused)
{
	(void)unused;
	context = open_device();
	return 0;
}

__attribute__((unused)) static long closes(long unused)
{
	(void)unused;
	return INT(ibv_close_device(context));
}

__attribute__((unused)) static long lends_fd(long unused)
{
	(void)unused;
	fd_out = context->cmd_fd;
	return 0;
}

__attribute__((unused)) static long takes_fd(long unused)
{
	(void)unused;
	MUST(fd_in >= 0);
	context = PTR(ibv_import_device(fd_in));
	MUST(context);
	return 0;
}

__attribute__((unused)) static long allocs(long unused)
{
	(void)unused;
	pd = alloc_pd(context);
	return pd->handle;
}

__attribute__((unused)) static long imports(long handle)
{
	pd = import_pd(context, handle);
	return pd->handle;
}

/* An import that is not to succeed. */
__attribute__((unused)) static long fails_to_import(long handle)
{
	MUST(!PTR(ibv_import_pd(context, handle)));
	return 0;
}

__attribute__((unused)) static long unimports(long unused)
{
	(void)unused;
	VOID(ibv_unimport_pd(pd));
	return 0;
}

__attribute__((unused)) static long deallocs(long unused)
{
	(void)unused;
	return INT(ibv_dealloc_pd(pd));
}

__attribute__((unused)) static long regs(long unused)
{
	(void)unused;
	mr = reg_mr(pd);
	return 0;
}

__attribute__((unused)) static long fails_to_reg(long unused)
{
	(void)unused;
	MUST(!PTR(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE)));
	return 0;
}

__attribute__((unused)) static long deregs(long unused)
{
	(void)unused;
	return INT(ibv_dereg_mr(mr));
}

__attribute__((unused)) static long regs_umem(long unused)
{
	(void)unused;
	umem = reg_umem(context);
	return 0;
}

__attribute__((unused)) static long deregs_umem(long unused)
{
	(void)unused;
	return INT(mlx5dv_devx_umem_dereg(umem));
}

#ifdef NEEDS_UMEM_EXPORT
__attribute__((unused)) static long exports_umem(long unused)
{
	(void)unused;
	blob = export_umem(umem);
	return 0;
}

__attribute__((unused)) static long imports_umem(long unused)
{
	(void)unused;
	umem = import_umem(context, blob);
	return 0;
}

__attribute__((unused)) static long unimports_umem(long unused)
{
	(void)unused;
	VOID(mlx5dv_devx_umem_unimport(umem));
	return 0;
}
#endif

/* `from` hands its device file to `to`, which imports it. */
__attribute__((unused)) static void hand_on(struct actor from, struct actor to)
{
	int fd = -1;

	ask_with(from, lends_fd, 0, &fd);
	MUST(fd >= 0);
	/* Sent and then closed here: the director holds nothing. */
	int sent = fd;
	ask_with(to, takes_fd, 0, &fd);
	close(sent);
}

/* A opens the device and B has it too. */
__attribute__((unused)) static void shared(struct actor A, struct actor B)
{
	ask(A, opens, 0);
	hand_on(A, B);
}

#endif
