/*
 * The hardware's PD number is given where the kernel's handle belongs.
 *
 * expect: warning pd-handle-is-pdn in ibv_import_pd (pd_handle) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_pd hardware;
	struct mlx5dv_obj object = { .pd = { .in = pd, .out = &hardware } };

	MUST(mlx5dv_init_obj(&object, MLX5DV_OBJ_PD) == 0);
	MUST(hardware.pdn != pd->handle);
	MUST(!PTR(ibv_import_pd(context, hardware.pdn)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
