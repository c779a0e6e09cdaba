/*
 * A UMEM imported into no context: the real library stores the NULL and goes on, so this is told and forwarded.
 *
 * needs: 63
 * expect: error null-argument in mlx5dv_devx_umem_import (context) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct blob blob = export_umem(umem);
	struct mlx5dv_devx_umem *imported = PTR(mlx5dv_devx_umem_import(NULL, &blob));

	MUST(imported);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
