/*
 * A memory region made through another reference to the same PD does not count.
 *
 * nearly: pd-unimport-busy
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_mr *mine = reg_mr(imported), *owners = reg_mr(pd);

	INT(ibv_dereg_mr(mine));
	VOID(ibv_unimport_pd(imported));
	INT(ibv_dereg_mr(owners));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
