/*
 * A warning for each of the other kinds that hang on an import when that is unimported: work queues, made either way,
 * an mkey, an address handle, regions of nothing and of device memory.
 *
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: no note children-left
 * lab: no, the stand-in driver has no work queues
 */
#include "../common/every_child.h"

static void work_queue(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_wq *wq = create_wq(imported, cq);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_wq(wq)) == 0);
	INT(ibv_destroy_cq(cq));
}

static void mlx5_work_queue(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_wq *wq = create_mlx5_wq(imported, cq);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_wq(wq)) == 0);
	INT(ibv_destroy_cq(cq));
}

static void mkey(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct mlx5dv_mkey *mkey = create_mkey(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(mlx5dv_destroy_mkey(mkey)) == 0);
}

static void address_handle(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_ah *ah = create_ah(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_ah(ah)) == 0);
}

static void null_region(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_mr *mr = PTR(ibv_alloc_null_mr(imported));

	MUST(mr);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dereg_mr(mr)) == 0);
}

static void device_memory(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_dm *dm = alloc_dm(context);
	struct ibv_mr *mr = reg_dm_mr(imported, dm);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dereg_mr(mr)) == 0);
	MUST(INT(ibv_free_dm(dm)) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	work_queue(context, pd->handle);
	mlx5_work_queue(context, pd->handle);
	mkey(context, pd->handle);
	address_handle(context, pd->handle);
	null_region(context, pd->handle);
	device_memory(context, pd->handle);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
