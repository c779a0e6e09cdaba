/*
 * What newer libraries have: DEVX objects, VARs and device memory that are imported and unimported, buffers, hints.
 *
 * needs: 65
 * expect: none
 * expect: no note children-left
 * lab: no, the stand-in driver has no work queues
 */
#include "../common/every_child.h"

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_devx_obj *obj = create_devx(context), *imported_obj;
	struct mlx5dv_var *var = PTR(mlx5dv_alloc_var(context, 0)), *imported_var;
	struct ibv_dm *dm = alloc_dm(context), *imported_dm;
	struct ibv_dmah_init_attr dmah_attr = { 0 };
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
	char blob[64] = { 0 };

	MUST(INT(mlx5dv_devx_obj_export(obj, blob)) == 0);
	imported_obj = PTR(mlx5dv_devx_obj_import(shared, blob));
	MUST(INT(mlx5dv_var_export(var, blob)) == 0);
	imported_var = PTR(mlx5dv_var_import(shared, blob));
	imported_dm = PTR(ibv_import_dm(shared, dm->handle));
	MUST(imported_obj && imported_var && imported_dm);
	VOID(ibv_unimport_dm(imported_dm));
	VOID(mlx5dv_var_unimport(imported_var));
	VOID(mlx5dv_devx_obj_unimport(imported_obj));
	VOID(mlx5dv_devx_obj_unimport(NULL));
	INT(ibv_close_device(shared));
	MUST(PTR(ibv_alloc_buf(pd, PAGE, &buf)));
	VOID(ibv_free_buf(buf));
	dmah = PTR(ibv_alloc_dmah(context, &dmah_attr));
	if (dmah)
		INT(ibv_dealloc_dmah(dmah));
	MUST(INT(ibv_free_dm(dm)) == 0);
	VOID(mlx5dv_free_var(var));
	MUST(INT(mlx5dv_devx_obj_destroy(obj)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
