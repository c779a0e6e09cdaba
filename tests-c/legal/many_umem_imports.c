/*
 * Legal 3 and 5: one UMEM, exported again and again, imported many times; another exported and never imported.
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
	struct mlx5dv_devx_umem *umem = reg_umem(context), *lonely = reg_umem(context), *imported[8];

	export_umem(lonely);
	for (int i = 0; i < 8; i++)
		imported[i] = import_umem(i % 2 ? other : context, export_umem(umem));
	for (int i = 0; i < 8; i++)
		VOID(mlx5dv_devx_umem_unimport(imported[i]));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(mlx5dv_devx_umem_dereg(lonely));
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
