/*
 * The number of a PD that was released is asked for; that of a live one may be.
 *
 * expect: error pd-used-after-release in mlx5dv_init_obj (obj->pd.in) refused
 * parity: no, the real library reads free memory
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);
	struct mlx5dv_pd inside = { 0 };
	struct mlx5dv_obj obj = { .pd = { pd, &inside } };

	MUST(INT(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD)) == 0);
	VOID(ibv_unimport_pd(imported));
	obj.pd.in = imported;
	MUST(INT(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD)) == EINVAL);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
