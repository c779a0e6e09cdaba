/*
 * Legal 6: the owner hands over and closes its context; the new holder uses and destroys.
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

	VOID(ibv_unimport_pd(pd));
	VOID(mlx5dv_devx_umem_unimport(umem));
	INT(ibv_close_device(context));
	INT(ibv_dereg_mr(reg_mr(imported)));
	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	MUST(INT(mlx5dv_devx_umem_dereg(imported_umem)) == 0);
	INT(ibv_close_device(other));
	return 0;
}
