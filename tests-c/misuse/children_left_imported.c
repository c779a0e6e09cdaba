/*
 * What was imported is left as well, and is told once for the context that has it.
 *
 * needs: 65
 * log: stderr
 * options: verbose=1
 * parity: no, the report is on stderr
 * shows: was closed with 2 dms, 1 var, 1 DEVX object in it
 * exit: 0
 * lab: no, the stand-in driver has no DEVX objects
 */
#include "../common/every_child.h"

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);
	struct mlx5dv_devx_obj *obj = create_devx(context);
	struct mlx5dv_var *var = PTR(mlx5dv_alloc_var(context, 0));
	struct mlx5dv_alloc_dm_attr mlx5 = { .type = MLX5DV_DM_TYPE_MEMIC };
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = PTR(mlx5dv_alloc_dm(shared, &attr, &mlx5));
	char blob[64] = { 0 };

	MUST(var && dm);
	MUST(INT(mlx5dv_devx_obj_export(obj, blob)) == 0);
	MUST(PTR(mlx5dv_devx_obj_import(shared, blob)));
	MUST(INT(mlx5dv_var_export(var, blob)) == 0);
	MUST(PTR(mlx5dv_var_import(shared, blob)));
	MUST(PTR(ibv_import_dm(shared, dm->handle)));
	INT(ibv_close_device(shared));
	MUST(INT(mlx5dv_devx_obj_destroy(obj)) == 0);
	VOID(mlx5dv_free_var(var));
	INT(ibv_close_device(context));
	return 0;
}
