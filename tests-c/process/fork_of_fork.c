/*
 * A child of a child uses verbs, and its parents did not. Forking costs no waiting, and the last one is guarded.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * exit: 0
 * parity: no, unguarded it frees twice
 */
#include "../common/trace.h"

#include <time.h>

static void misuses(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);

	ibv_unimport_pd(imported);
	ibv_unimport_pd(imported);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
}

static void forks(int deep)
{
	int status;
	pid_t child = fork();

	MUST(child >= 0);
	if (child == 0) {
		if (deep)
			forks(deep - 1);
		else
			misuses();
		exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
}

int main(void)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	forks(2);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* A lock that is waited for costs five. */
	MUST(after.tv_sec - before.tv_sec < 4);
	return 0;
}
