/*
 * A QP and a memory window are made on an import whose PD its owner has destroyed: the kernel knows none.
 *
 * expect: error pd-used-after-destroy in ibv_create_qp (pd) forwarded
 * expect: error pd-used-after-destroy in ibv_alloc_mw (pd) forwarded
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_qp_init_attr attr = qp_attr(cq);

	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	cq = create_cq(context);
	attr.send_cq = attr.recv_cq = cq;
	MUST(!PTR(ibv_create_qp(imported, &attr)));
	MUST(!PTR(ibv_alloc_mw(imported, IBV_MW_TYPE_1)));
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
