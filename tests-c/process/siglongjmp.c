/*
 * A signal handler jumps out of a verbs call: later calls of the thread are checked as before.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;

static void jump(int signal)
{
	siglongjmp(out, signal);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct itimerval soon = { .it_value = { .tv_usec = 500 } };
	struct ibv_pd *pd;

	signal(SIGALRM, jump);
	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(out, 1))
			continue;
		setitimer(ITIMER_REAL, &soon, NULL);
		/* A call that takes no lock of the C library's: only our own frames are jumped over. */
		for (;;)
			ibv_import_pd(context, 100000);
	}
	pd = alloc_pd(context);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
