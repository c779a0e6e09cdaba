/*
 * Offset 0 of a dmabuf whose descriptor is closed right after the registration.
 *
 * nearly: umem-dmabuf-offset, umem-dmabuf-fd, umem-comp-mask
 * expect: none
 * lab: no, the stand-in driver takes no dmabuf
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem_in in = {
		.addr = NULL,
		.size = 2 * PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = UINT64_MAX & ~(PAGE - 1ULL),
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = memfd_create("dmabuf", 0),
	};
	struct mlx5dv_devx_umem *umem;

	MUST(in.dmabuf_fd >= 0 && ftruncate(in.dmabuf_fd, 2 * PAGE) == 0);
	umem = PTR(mlx5dv_devx_umem_reg_ex(context, &in));
	MUST(umem);
	close(in.dmabuf_fd);
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
