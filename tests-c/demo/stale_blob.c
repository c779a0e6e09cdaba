/*
 * A worker caches the exported blob, and the owner registers its buffer anew. The import "succeeds" and names the new
 * UMEM, so the worker's clean-up destroys what it never meant.
 */
#include "demo.h"

static char cached[64];

static struct mlx5dv_devx_umem *owner_registers(struct ibv_context *context, size_t size)
{
	return CHECK(mlx5dv_devx_umem_reg(context, buffer, size, IBV_ACCESS_LOCAL_WRITE));
}

static struct mlx5dv_devx_umem *worker_attaches(struct ibv_context *context)
{
	return CHECK(mlx5dv_devx_umem_import(context, cached));
}

int main(void)
{
	struct ibv_context *owner = open_device();
	struct ibv_context *worker = open_shared(owner);
	struct mlx5dv_devx_umem *umem = owner_registers(owner, 4096);

	mlx5dv_devx_umem_export(umem, cached);
	mlx5dv_devx_umem_dereg(umem);
	umem = owner_registers(owner, sizeof(buffer));

	struct mlx5dv_devx_umem *shared = worker_attaches(worker);

	printf("worker attached to UMEM %u\n", shared->umem_id);
	printf("worker destroys it: %s\n", mlx5dv_devx_umem_dereg(shared) ? "failed" : "done");
	if (mlx5dv_devx_umem_dereg(umem) != 0) {
		perror("owner: mlx5dv_devx_umem_dereg");
		mlx5dv_devx_umem_unimport(umem);
	}
	ibv_close_device(worker);
	ibv_close_device(owner);
	return 0;
}
