/*
 * A QP made on the import lives when that is unimported: destroying it reads the PD's struct, which is free by then.
 *
 * expect: error pd-unimport-busy in ibv_unimport_pd (pd) forwarded
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
