/*
 * Registrations that the kernel refuses, each for one argument.
 *
 * expect: warning umem-size-zero in mlx5dv_devx_umem_reg (size) forwarded
 * expect: warning umem-range-wraps in mlx5dv_devx_umem_reg (size) forwarded
 * expect: warning umem-memory-unmapped in mlx5dv_devx_umem_reg (addr) forwarded
 * expect: warning umem-access-bits in mlx5dv_devx_umem_reg (access) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	char *page = lone_page(PROT_READ | PROT_WRITE);

	MUST(munmap(page + PAGE, PAGE) == 0);
	MUST(!PTR(mlx5dv_devx_umem_reg(context, buffer, 0, IBV_ACCESS_LOCAL_WRITE)));
	MUST(!PTR(mlx5dv_devx_umem_reg(context, (char *)-PAGE, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE)));
	MUST(!PTR(mlx5dv_devx_umem_reg(context, page, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE)));
	MUST(!PTR(mlx5dv_devx_umem_reg(context, buffer, PAGE, IBV_ACCESS_REMOTE_WRITE)));
	INT(ibv_close_device(context));
	return 0;
}
