/*
 * Heirs: children that an actor forks with all that it holds. They take steps, as actors do, and are silent until they
 * are asked for one that calls verbs.
 */
#ifndef HEIR_H
#define HEIR_H

#include "actors.h"

static long forks_heir(long unused)
{
	int pair[2];
	pid_t pid;

	(void)unused;
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	fflush(stdout);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		close(director_socket);
		close(pair[0]);
		director_socket = pair[1];
		prctl(PR_SET_NAME, "heir");
		serve();
	}
	close(pair[1]);
	fd_out = pair[0];
	return pid;
}

static long reaps(long pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The director inherits an heir whose parent has ended, and may then `end` it. */
static struct actor heir_of(struct actor parent)
{
	int socket = -1;
	pid_t pid;

	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	pid = ask_with(parent, forks_heir, 0, &socket);
	MUST(socket >= 0);
	return (struct actor){ pid, socket };
}

/* An heir exits whose parent lives. */
__attribute__((unused)) static void end_heir(struct actor parent, struct actor heir)
{
	struct request request = { 0 };
	int status;

	send_all(heir.socket, &request, sizeof(request), -1);
	status = ask(parent, reaps, heir.pid);
	close(heir.socket);
	if (status > worst_status)
		worst_status = status;
}

#endif
