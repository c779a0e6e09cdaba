/*
 * A signal handler uses verbs in the middle of verbs calls, and in the end exits. Nothing hangs, and nothing is claimed. The call is one that only copies, so no lock of another library's is interrupted.
 *
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

#include <signal.h>
#include <sys/time.h>

static struct mlx5dv_devx_umem *umem;
static struct blob blob;

static void handler(int signal)
{
	static int count;
	struct blob other;

	(void)signal;
	MUST(mlx5dv_devx_umem_export(umem, &other) == 0);
	if (++count == 50)
		exit(0);
}

int main(void)
{
	struct itimerval often = { .it_value = { .tv_usec = 100 }, .it_interval = { .tv_usec = 100 } };

	umem = reg_umem(open_device());
	alarm(20);
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	for (;;)
		MUST(mlx5dv_devx_umem_export(umem, &blob) == 0);
}
