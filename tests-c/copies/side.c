/* A plugin that is linked with a copy of rdma-core (side.h). */
#define THE_SIDE
#include "side.h"

static struct ibv_context *open_it(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;

	if (list)
		ibv_free_device_list(list);
	return context;
}

static struct ibv_context *import_device(int fd)
{
	return ibv_import_device(fd);
}

static int close_it(struct ibv_context *context)
{
	return ibv_close_device(context);
}

static struct ibv_pd *alloc_it(struct ibv_context *context)
{
	return ibv_alloc_pd(context);
}

static int dealloc_it(struct ibv_pd *pd)
{
	return ibv_dealloc_pd(pd);
}

static struct ibv_pd *import_it(struct ibv_context *context, uint32_t handle)
{
	return ibv_import_pd(context, handle);
}

static void unimport_it(struct ibv_pd *pd)
{
	ibv_unimport_pd(pd);
}

static struct ibv_mr *reg_it(struct ibv_pd *pd, void *addr, size_t length)
{
	return ibv_reg_mr(pd, addr, length, IBV_ACCESS_LOCAL_WRITE);
}

static int dereg_it(struct ibv_mr *mr)
{
	return ibv_dereg_mr(mr);
}

static struct mlx5dv_devx_umem *reg_umem_of(struct ibv_context *context, void *addr, size_t size)
{
	return mlx5dv_devx_umem_reg(context, addr, size, IBV_ACCESS_LOCAL_WRITE);
}

static int dereg_umem(struct mlx5dv_devx_umem *umem)
{
	return mlx5dv_devx_umem_dereg(umem);
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };

	return ibv_alloc_parent_domain(context, &attr);
}

struct side side = {
	.open = open_it,
	.import_device = import_device,
	.close = close_it,
	.alloc_pd = alloc_it,
	.dealloc_pd = dealloc_it,
	.import_pd = import_it,
	.unimport_pd = unimport_it,
	.reg_mr = reg_it,
	.dereg_mr = dereg_it,
	.reg_umem = reg_umem_of,
	.dereg_umem = dereg_umem,
	.alloc_parent_domain = alloc_parent_domain,
};
