/*
 * The same order with an SRQ and a memory window, which do not read their PD.
 *
 * nearly: pd-of-child-released
 * options: disable=pd-unimport-busy
 * expect: none
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_srq *srq = create_srq(imported);
	struct ibv_mw *mw = alloc_mw(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_srq(srq)) == 0);
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
