/*
 * Each side ends a reference twice, with the other side at work in between.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * expect: error umem-released-twice in mlx5dv_devx_umem_dereg (umem) refused
 * expect: error umem-released-twice in mlx5dv_devx_umem_dereg (umem) refused
 * parity: no, what is freed is read
 */
#include "flow.h"

static void twice(struct side *side, struct side *other, const char *other_mlx5)
{
	struct ibv_context *context = PTR(side->open());
	struct ibv_pd *pd = PTR(side->alloc_pd(context));
	struct ibv_pd *imported = PTR(side->import_pd(context, pd->handle));
	struct mlx5dv_devx_umem *umem = PTR(side->reg_umem(context, buffer, sizeof(buffer)));

	VOID(side->unimport_pd(imported));
	MUST(INT(side->dereg_umem(umem)) == 0);
	VOID(side->unimport_pd(imported));
	MUST(INT(side->dereg_umem(umem)) == EINVAL);
	whole_flow(other, other_mlx5);
	MUST(INT(side->dealloc_pd(pd)) == 0);
	MUST(INT(side->close(context)) == 0);
}

int main(void)
{
	struct side *system = open_side("./system.so", RTLD_LOCAL);
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);

	twice(system, bundled, BUNDLED_MLX5);
	twice(bundled, system, SYSTEM_MLX5);
	return 0;
}
