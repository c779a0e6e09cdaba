/*
 * Legal 7: EBUSY, the children go, and the dealloc succeeds; the child is another reference's here.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(other, pd->handle);
	struct ibv_mr *mr = reg_mr(imported);

	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	INT(ibv_dereg_mr(mr));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	VOID(ibv_unimport_pd(imported));
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
