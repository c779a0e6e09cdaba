/*
 * nearly: umem-destroyed-elsewhere
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	VOID(mlx5dv_devx_umem_unimport(import_umem(context, export_umem(umem))));
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
