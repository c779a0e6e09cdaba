/*
 * A registration fails for a reason that no argument explains by itself: memory that may only be read, to be written by the device.
 *
 * expect: note registration-failed in mlx5dv_devx_umem_reg forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	MUST(!PTR(mlx5dv_devx_umem_reg(context, lone_page(PROT_READ), PAGE, IBV_ACCESS_LOCAL_WRITE)));
	INT(ibv_close_device(context));
	return 0;
}
