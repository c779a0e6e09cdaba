/* What each side does in its own copy, and rightly. */
#include "side.h"

__attribute__((unused)) static void whole_flow(struct side *side, const char *mlx5)
{
	struct ibv_context *context = of_copy(PTR(side->open()), mlx5);
	struct ibv_context *shared = of_copy(PTR(side->import_device(dup(context->cmd_fd))), mlx5);
	struct ibv_pd *pd = PTR(side->alloc_pd(context));
	struct ibv_pd *imported = PTR(side->import_pd(shared, pd->handle));
	struct ibv_pd *domain = PTR(side->alloc_parent_domain(context, pd));
	struct ibv_mr *mr = PTR(side->reg_mr(imported, buffer, sizeof(buffer)));
	struct mlx5dv_devx_umem *umem = PTR(side->reg_umem(context, buffer, sizeof(buffer)));

	MUST(imported && domain && mr && umem);
	MUST(INT(side->dealloc_pd(domain)) == 0);
	MUST(INT(side->dealloc_pd(pd)) == EBUSY);
	MUST(INT(side->dereg_mr(mr)) == 0);
	VOID(side->unimport_pd(imported));
	MUST(INT(side->dealloc_pd(pd)) == 0);
	MUST(INT(side->dereg_umem(umem)) == 0);
	MUST(INT(side->close(shared)) == 0);
	MUST(INT(side->close(context)) == 0);
}
