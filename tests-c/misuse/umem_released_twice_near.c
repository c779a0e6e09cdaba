/*
 * nearly: umem-released-twice
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct mlx5dv_devx_umem *first = import_umem(context, export_umem(umem));
	struct mlx5dv_devx_umem *second = import_umem(context, export_umem(umem));

	VOID(mlx5dv_devx_umem_unimport(first));
	VOID(mlx5dv_devx_umem_unimport(second));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
