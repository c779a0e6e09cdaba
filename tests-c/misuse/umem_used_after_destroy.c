/*
 * needs: 63
 * expect: note umem-destroyed-while-shared in mlx5dv_devx_umem_dereg forwarded
 * expect: error umem-used-after-destroy in mlx5dv_devx_umem_export (umem) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct mlx5dv_devx_umem *imported = import_umem(context, export_umem(umem));
	struct blob blob;

	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	MUST(INT(mlx5dv_devx_umem_export(imported, &blob)) == 0);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(ibv_close_device(context));
	return 0;
}
