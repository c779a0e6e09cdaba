/*
 * The new UMEM in the old one's place was exported too.
 *
 * nearly: umem-blob-stale
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context), *imported;

	export_umem(umem);
	INT(mlx5dv_devx_umem_dereg(umem));
	umem = reg_umem(context);
	imported = import_umem(context, export_umem(umem));
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
