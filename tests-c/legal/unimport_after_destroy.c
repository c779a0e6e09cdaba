/*
 * Legal 2: unimport is the right end of what was destroyed elsewhere.
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
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct ibv_pd *imported = import_pd(other, pd->handle);
	struct mlx5dv_devx_umem *imported_umem = import_umem(other, export_umem(umem));

	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	INT(ibv_close_device(context));
	VOID(ibv_unimport_pd(imported));
	VOID(mlx5dv_devx_umem_unimport(imported_umem));
	INT(ibv_close_device(other));
	return 0;
}
