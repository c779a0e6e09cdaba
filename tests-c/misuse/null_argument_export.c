/*
 * NULL given to UMEM export and import.
 *
 * needs: 63
 * expect: error null-argument in mlx5dv_devx_umem_export (umem) refused
 * expect: error null-argument in mlx5dv_devx_umem_export (data) refused
 * expect: error null-argument in mlx5dv_devx_umem_import (data) refused
 * parity: no, the real library dereferences NULL
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct blob blob;

	MUST(INT(mlx5dv_devx_umem_export(NULL, &blob)) == EINVAL);
	MUST(INT(mlx5dv_devx_umem_export(umem, NULL)) == EINVAL);
	MUST(!PTR(mlx5dv_devx_umem_import(context, NULL)) && errno == EINVAL);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
