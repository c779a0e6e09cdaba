/*
 * The same, but the owner ends its reference by unimport.
 *
 * needs: 63
 * nearly: umem-dereg-failed
 * expect: note umem-dereg-failed in mlx5dv_devx_umem_dereg
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
	VOID(mlx5dv_devx_umem_unimport(umem));
	INT(ibv_close_device(context));
	return 0;
}
