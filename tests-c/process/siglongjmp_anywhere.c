/*
 * A signal handler jumps out of verbs calls, at any instruction, also while the guard holds a lock of its own: the program
 * goes on. The guard may have to give up then, and only forwards from there on, so nothing is asked of it. The call is one
 * that only copies, so no lock of another library's is jumped out of.
 *
 * needs: 63
 * expect: none
 * parity: no, where the jumps land differs from run to run
 */
#define NEEDS_UMEM_EXPORT
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
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct itimerval soon = { .it_value = { .tv_usec = 100 } };
	struct blob blob = export_umem(umem);

	/* Where a lock is left taken, each later jump comes out of a wait that takes little of the timer's time. */
	alarm(50);
	signal(SIGVTALRM, jump);
	for (volatile int i = 0; i < 8; i++) {
		if (sigsetjmp(out, 1))
			continue;
		setitimer(ITIMER_VIRTUAL, &soon, NULL);
		for (;;)
			mlx5dv_devx_umem_export(umem, &blob);
	}
	export_umem(umem);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
