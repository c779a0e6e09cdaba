/*
 * The same for what only mlx5dv_devx_umem_reg_ex takes.
 *
 * expect: warning umem-comp-mask in mlx5dv_devx_umem_reg_ex (comp_mask) forwarded
 * expect: warning umem-pgsz-bitmap in mlx5dv_devx_umem_reg_ex (pgsz_bitmap) forwarded
 * expect: warning umem-dmabuf-fd in mlx5dv_devx_umem_reg_ex (dmabuf_fd) forwarded
 * lab: no, the stand-in driver takes no dmabuf
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem_in good = {
		.addr = buffer,
		.size = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = UINT64_MAX & ~(PAGE - 1ULL),
	};
	struct mlx5dv_devx_umem_in bad_mask = good, bad_pages = good, bad_fd = good;

	bad_mask.comp_mask = 1 << 9;
	MUST(!PTR(mlx5dv_devx_umem_reg_ex(context, &bad_mask)));
	bad_pages.pgsz_bitmap = 1 << 5;
	MUST(!PTR(mlx5dv_devx_umem_reg_ex(context, &bad_pages)));
	bad_fd.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
	bad_fd.addr = NULL;
	bad_fd.dmabuf_fd = 12345;
	MUST(!PTR(mlx5dv_devx_umem_reg_ex(context, &bad_fd)));
	INT(ibv_close_device(context));
	return 0;
}
