/*
 * A memory region moves to another PD; the first one is free then.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *from = alloc_pd(context), *to = alloc_pd(context);
	struct ibv_mr *mr = reg_mr(from);

	if (INT(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, to, NULL, 0, 0)) != 0) {
		/* A device may refuse to move regions: nothing to see then. */
		INT(ibv_dereg_mr(mr));
		INT(ibv_dealloc_pd(from));
		INT(ibv_dealloc_pd(to));
		INT(ibv_close_device(context));
		return 0;
	}
	MUST(INT(ibv_dealloc_pd(from)) == 0);
	MUST(INT(ibv_dealloc_pd(to)) == EBUSY);
	INT(ibv_dereg_mr(mr));
	MUST(INT(ibv_dealloc_pd(to)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
