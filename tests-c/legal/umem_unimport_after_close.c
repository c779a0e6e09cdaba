/*
 * Legal 13: unimport of a UMEM is free(), and export is two copies: neither needs the context.
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

	INT(ibv_close_device(other));
	export_umem(imported);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
