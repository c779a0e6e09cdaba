/*
 * A dealloc fails because of a memory region, and nobody comes back to it.
 *
 * expect: note pd-dealloc-busy in ibv_dealloc_pd
 * expect: warning pd-dealloc-busy in ibv_close_device
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	reg_mr(pd);
	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	INT(ibv_close_device(context));
	return 0;
}
