/*
 * Legal 11: an older caller's mlx5dv_devx_umem_in ends before dmabuf_fd, at the end of readable memory.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	char *page = lone_page(PROT_READ | PROT_WRITE);
	size_t size = offsetof(struct mlx5dv_devx_umem_in, dmabuf_fd);
	struct mlx5dv_devx_umem_in *in = (void *)(page + PAGE - size);
	struct mlx5dv_devx_umem *umem;

	in->addr = buffer;
	in->size = PAGE;
	in->access = IBV_ACCESS_LOCAL_WRITE;
	in->pgsz_bitmap = UINT64_MAX & ~(PAGE - 1ULL);
	in->comp_mask = 0;
	umem = PTR(mlx5dv_devx_umem_reg_ex(context, in));
	MUST(umem);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
