/*
 * Something that the guard does not see destroys the UMEM. The owner's dereg fails, which frees nothing, and it never comes back to it.
 *
 * needs: 63
 * expect: note umem-dereg-failed in mlx5dv_devx_umem_dereg
 * expect: warning umem-dereg-failed
 * run: --audit=off
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

#include "../common/unguarded.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	unguarded_destroy_umem(context, export_umem(umem));
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == ENOENT);
	INT(ibv_close_device(context));
	return 0;
}
