/*
 * The odd but right: eight bytes, no access, any alignment, the last page before a hole.
 *
 * nearly: umem-size-zero, umem-range-wraps, umem-memory-unmapped, umem-access-bits, umem-pgsz-bitmap
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	char *page = lone_page(PROT_READ | PROT_WRITE);
	struct mlx5dv_devx_umem_in in = {
		.addr = buffer,
		.size = PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.pgsz_bitmap = PAGE,
	};
	struct mlx5dv_devx_umem *umems[] = {
		PTR(mlx5dv_devx_umem_reg(context, buffer + 3, 8, 0)),
		PTR(mlx5dv_devx_umem_reg(context, page, PAGE, IBV_ACCESS_LOCAL_WRITE)),
		PTR(mlx5dv_devx_umem_reg_ex(context, &in)),
	};

	for (unsigned i = 0; i < 3; i++)
		MUST(umems[i] && INT(mlx5dv_devx_umem_dereg(umems[i])) == 0);
	INT(ibv_close_device(context));
	return 0;
}
