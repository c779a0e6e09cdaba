/*
 * Another reference to the same PD was released; this one is used.
 *
 * nearly: pd-used-after-release
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_mr *mr;

	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	mr = reg_mr(pd);
	INT(ibv_dereg_mr(mr));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
