/*
 * The two sides share one device file and its PDs, each through contexts and structs of its own.
 *
 * expect: none
 */
#include "flow.h"

static void hand(struct side *from, struct side *to, const char *to_mlx5)
{
	struct ibv_context *context = PTR(from->open());
	struct ibv_context *theirs = of_copy(PTR(to->import_device(dup(context->cmd_fd))), to_mlx5);
	struct ibv_pd *pd = PTR(from->alloc_pd(context));
	struct ibv_pd *imported = PTR(to->import_pd(theirs, pd->handle));
	struct ibv_mr *mr = PTR(to->reg_mr(imported, buffer, sizeof(buffer)));

	MUST(mr);
	MUST(INT(from->dealloc_pd(pd)) == EBUSY);
	MUST(INT(to->dereg_mr(mr)) == 0);
	MUST(INT(to->dealloc_pd(imported)) == 0);
	VOID(from->unimport_pd(pd));
	MUST(INT(from->close(context)) == 0);
	MUST(INT(to->close(theirs)) == 0);
}

int main(void)
{
	struct side *system = open_side("./system.so", RTLD_LOCAL);
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);

	hand(system, bundled, BUNDLED_MLX5);
	hand(bundled, system, SYSTEM_MLX5);
	return 0;
}
