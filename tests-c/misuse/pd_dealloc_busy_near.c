/*
 * The children are freed and the dealloc is made again.
 *
 * nearly: pd-dealloc-busy
 * expect: note pd-dealloc-busy in ibv_dealloc_pd
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_mr *mr = reg_mr(pd);

	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	MUST(INT(ibv_dereg_mr(mr)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
