/*
 * A call faults inside the real library, and the program's handler jumps out of it: later calls of the thread are checked as before.
 *
 * needs: 63
 * options: mode=observe
 * expect: error bad-pointer in mlx5dv_devx_umem_export (data) forwarded
 * expect: warning umem-destroyed-elsewhere in mlx5dv_devx_umem_dereg (umem) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf out;

static void jump(int signal)
{
	siglongjmp(out, signal);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct mlx5dv_devx_umem *imported = import_umem(context, export_umem(umem));
	char *nothing = lone_page(PROT_NONE);

	signal(SIGSEGV, jump);
	if (sigsetjmp(out, 1) == 0) {
		mlx5dv_devx_umem_export(umem, nothing);
		MUST(!"the export succeeded");
	}
	signal(SIGSEGV, SIG_DFL);
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	MUST(INT(mlx5dv_devx_umem_dereg(imported)) == ENOENT);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(ibv_close_device(context));
	return 0;
}
