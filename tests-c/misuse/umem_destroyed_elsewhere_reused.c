/*
 * The number belongs to a new UMEM: a destroy through the old reference would take that one.
 *
 * needs: 63
 * expect: error umem-destroyed-elsewhere in mlx5dv_devx_umem_dereg (umem) refused
 * parity: no, forwarded it destroys the new UMEM
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *old = reg_umem(context);
	struct mlx5dv_devx_umem *imported = import_umem(context, export_umem(old)), *new;

	MUST(INT(mlx5dv_devx_umem_dereg(old)) == 0);
	new = reg_umem(context);
	MUST(INT(mlx5dv_devx_umem_dereg(imported)) == ENOENT);
	VOID(mlx5dv_devx_umem_unimport(imported));
	MUST(INT(mlx5dv_devx_umem_dereg(new)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
