/*
 * A QP is destroyed after the unimport of the PD that it reads, which was not told.
 *
 * options: disable=pd-unimport-busy
 * expect: error pd-of-child-released in ibv_destroy_qp (qp) forwarded
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_qp *qp = create_qp(imported, cq);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
