/*
 * Nothing but the bundled side is there: the system's is not loaded for our sake.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second dealloc frees twice
 */
#include "flow.h"

static int is_loaded(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

int main(void)
{
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);
	struct ibv_context *context;
	struct ibv_pd *pd;

	whole_flow(bundled, BUNDLED_MLX5);
	context = PTR(bundled->open());
	pd = PTR(bundled->alloc_pd(context));
	MUST(INT(bundled->dealloc_pd(pd)) == 0);
	MUST(INT(bundled->dealloc_pd(pd)) == EINVAL);
	MUST(INT(bundled->close(context)) == 0);
	MUST(!is_loaded("libibverbs.so.1") && !is_loaded("libmlx5.so.1"));
	return 0;
}
