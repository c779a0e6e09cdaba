/*
 * The same memory, which the device is only to read.
 *
 * nearly: registration-failed
 * expect: no note registration-failed
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = PTR(mlx5dv_devx_umem_reg(context, lone_page(PROT_READ), PAGE, 0));

	MUST(umem);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
