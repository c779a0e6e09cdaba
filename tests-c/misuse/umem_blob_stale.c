/*
 * The blob outlived its UMEM.
 *
 * needs: 63
 * expect: error umem-blob-stale in mlx5dv_devx_umem_import (data) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context), *imported;
	struct blob blob = export_umem(umem);

	INT(mlx5dv_devx_umem_dereg(umem));
	imported = import_umem(context, blob);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(ibv_close_device(context));
	return 0;
}
