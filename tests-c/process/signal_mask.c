/*
 * Signal masks and dispositions are the program's own.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <signal.h>

static void show(const char *when)
{
	sigset_t mask;
	struct sigaction action;

	MUST(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
	for (int signal = 1; signal < 32; signal++) {
		MUST(sigaction(signal, NULL, &action) == 0);
		printf("%s: signal %d %s %s\n", when, signal, sigismember(&mask, signal) ? "blocked" : "open",
		       action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handled");
	}
}

int main(void)
{
	struct ibv_context *context;

	show("before");
	context = open_device();
	INT(ibv_dealloc_pd(alloc_pd(context)));
	show("after");
	INT(ibv_close_device(context));
	return 0;
}
