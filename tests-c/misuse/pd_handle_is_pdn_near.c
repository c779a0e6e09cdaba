/*
 * nearly: pd-handle-is-pdn
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_pd hardware;
	struct mlx5dv_obj object = { .pd = { .in = pd, .out = &hardware } };

	MUST(mlx5dv_init_obj(&object, MLX5DV_OBJ_PD) == 0);
	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
