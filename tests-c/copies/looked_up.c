/*
 * Both copies are opened and asked for their functions by name, as NCCL does.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * parity: no, what is freed is read
 */
#include "look.h"

static void flow(const char *verbs, const char *mlx5, const char *copy)
{
	struct ibv_context *context;
	struct ibv_pd *pd, *imported;
	struct side side;

	look(&side, verbs, mlx5);
	context = of_copy(open_looked_up(), copy);
	pd = PTR(side.alloc_pd(context));
	imported = PTR(side.import_pd(context, pd->handle));
	VOID(side.unimport_pd(imported));
	VOID(side.unimport_pd(imported));
	MUST(INT(side.dealloc_pd(pd)) == 0);
	MUST(INT(side.close(context)) == 0);
}

int main(void)
{
	flow("./libibverbs-1.so", "./libmlx5-1.so", BUNDLED_MLX5);
	flow("libibverbs.so.1", "libmlx5.so.1", SYSTEM_MLX5);
	return 0;
}
