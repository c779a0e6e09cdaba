/*
 * The blob outlived its UMEM, and another one, which nobody exported, has its place.
 *
 * needs: 63
 * expect: error umem-blob-stale in mlx5dv_devx_umem_import (data) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *old = reg_umem(context), *new, *imported;
	struct blob blob = export_umem(old);

	INT(mlx5dv_devx_umem_dereg(old));
	new = reg_umem(context);
	imported = import_umem(context, blob);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(new));
	INT(ibv_close_device(context));
	return 0;
}
