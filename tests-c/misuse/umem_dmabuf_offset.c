/*
 * An address is given where a dmabuf's offset belongs.
 *
 * expect: warning umem-dmabuf-offset in mlx5dv_devx_umem_reg_ex (addr) forwarded
 * lab: no, the stand-in driver takes no dmabuf
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem_in in = {
		.addr = buffer,
		.size = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = UINT64_MAX & ~(PAGE - 1ULL),
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = memfd_create("dmabuf", 0),
	};

	MUST(in.dmabuf_fd >= 0 && ftruncate(in.dmabuf_fd, 2 * PAGE) == 0);
	MUST(!PTR(mlx5dv_devx_umem_reg_ex(context, &in)));
	INT(ibv_close_device(context));
	return 0;
}
