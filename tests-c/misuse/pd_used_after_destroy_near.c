/*
 * A destroy that failed destroyed nothing: the PD is used on.
 *
 * nearly: pd-used-after-destroy, pd-dealloc-busy
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_mr *mr = reg_mr(imported), *another;

	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	another = reg_mr(imported);
	INT(ibv_dereg_mr(another));
	INT(ibv_dereg_mr(mr));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	VOID(ibv_unimport_pd(imported));
	INT(ibv_close_device(context));
	return 0;
}
