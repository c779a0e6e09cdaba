/* A PD and a UMEM shared between two contexts of one device file, used and released as the manual pages ask. */
#include "demo.h"

int main(void)
{
	struct ibv_context *owner = open_device();
	struct ibv_pd *pd = CHECK(ibv_alloc_pd(owner));
	struct mlx5dv_devx_umem *umem =
		CHECK(mlx5dv_devx_umem_reg(owner, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	char blob[64];

	mlx5dv_devx_umem_export(umem, blob);

	struct ibv_context *worker = open_shared(owner);
	struct ibv_pd *shared_pd = CHECK(ibv_import_pd(worker, pd->handle));
	struct mlx5dv_devx_umem *shared_umem = CHECK(mlx5dv_devx_umem_import(worker, blob));
	struct ibv_mr *mr = CHECK(ibv_reg_mr(shared_pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

	printf("sharing PD handle %u and UMEM %u; lkey %#x\n", pd->handle, shared_umem->umem_id, mr->lkey);

	ibv_dereg_mr(mr);
	mlx5dv_devx_umem_unimport(shared_umem);
	ibv_unimport_pd(shared_pd);
	ibv_close_device(worker);

	mlx5dv_devx_umem_dereg(umem);
	ibv_dealloc_pd(pd);
	ibv_close_device(owner);
	return 0;
}
