/*
 * Another context of the same device file.
 *
 * nearly: umem-blob-foreign
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *here = open_device();
	struct ibv_context *there = share(here);
	struct mlx5dv_devx_umem *umem = reg_umem(there);
	struct mlx5dv_devx_umem *imported = import_umem(here, export_umem(umem));

	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(there));
	INT(ibv_close_device(here));
	return 0;
}
