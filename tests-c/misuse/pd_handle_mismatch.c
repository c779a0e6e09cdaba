/*
 * Something that the guard does not see frees the PD and allocates another under its number: an import finds a PD that is not the recorded one.
 *
 * expect: warning pd-handle-mismatch in ibv_import_pd (pd_handle) forwarded
 * run: --audit=off
 */
#include "../common/trace.h"

#include "../common/unguarded.h"

static uint32_t pdn(struct ibv_pd *pd)
{
	struct mlx5dv_pd hardware;
	struct mlx5dv_obj object = { .pd = { .in = pd, .out = &hardware } };

	MUST(mlx5dv_init_obj(&object, MLX5DV_OBJ_PD) == 0);
	return hardware.pdn;
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *elsewhere = open_device();
	struct ibv_pd *recorded = alloc_pd(context), *other;
	uint32_t handle = recorded->handle, number = pdn(recorded);

	MUST(unguarded_dealloc_pd(recorded) == 0);
	/* Takes the hardware's number, should it come back at once. */
	MUST(unguarded_alloc_pd(elsewhere));
	other = unguarded_alloc_pd(context);
	MUST(other && other->handle == handle && pdn(other) != number);
	VOID(ibv_unimport_pd(import_pd(context, handle)));
	return 0;
}
