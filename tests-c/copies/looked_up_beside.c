/*
 * The program is linked with the system's, and asks the copies it brings for their functions by name. Where both have the
 * same private interface the brought libmlx5 would have registered with the system's libibverbs.
 *
 * links: mlx5 ibverbs
 * private: differs
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * parity: no, what is freed is read
 */
#include "look.h"

int main(void)
{
	struct ibv_context *ours = of_copy(open_device(), SYSTEM_MLX5);
	struct ibv_pd *our_pd = alloc_pd(ours), *pd, *imported;
	struct ibv_context *context;
	struct side side;

	look(&side, "./libibverbs-1.so", "./libmlx5-1.so");
	context = of_copy(open_looked_up(), BUNDLED_MLX5);
	pd = PTR(side.alloc_pd(context));
	imported = PTR(side.import_pd(context, pd->handle));
	VOID(side.unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(our_pd)) == 0);
	VOID(side.unimport_pd(imported));
	MUST(INT(side.dealloc_pd(pd)) == 0);
	MUST(INT(side.close(context)) == 0);
	MUST(INT(ibv_close_device(ours)) == 0);
	return 0;
}
