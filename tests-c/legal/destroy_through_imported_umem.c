/*
 * Legal 1, for a UMEM.
 *
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct mlx5dv_devx_umem *imported = import_umem(other, export_umem(umem));

	MUST(INT(mlx5dv_devx_umem_dereg(imported)) == 0);
	VOID(mlx5dv_devx_umem_unimport(umem));
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
