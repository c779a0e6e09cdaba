/*
 * Nobody else holds the PD or the UMEM any more: nothing to note.
 *
 * needs: 63
 * nearly: pd-destroyed-while-shared, umem-destroyed-while-shared
 * expect: no note pd-destroyed-while-shared
 * expect: no note umem-destroyed-while-shared
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	VOID(mlx5dv_devx_umem_unimport(import_umem(context, export_umem(umem))));
	INT(ibv_dealloc_pd(pd));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
