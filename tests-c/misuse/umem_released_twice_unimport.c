/*
 * needs: 63
 * expect: error umem-released-twice in mlx5dv_devx_umem_unimport (umem) refused
 * parity: no, the second call frees the struct again
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct mlx5dv_devx_umem *imported = import_umem(context, export_umem(umem));

	VOID(mlx5dv_devx_umem_unimport(imported));
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
