/*
 * A signal handler releases and exits in the middle of other calls. Nothing hangs.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <signal.h>
#include <sys/time.h>

static struct ibv_context *context;

static void handler(int signal)
{
	(void)signal;
	ibv_import_pd(context, 100000);
	_exit(0);
}

int main(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 3000 } };

	context = open_device();
	fflush(stdout);
	alarm(20);
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &soon, NULL);
	for (;;)
		ibv_import_pd(context, 100000);
}
