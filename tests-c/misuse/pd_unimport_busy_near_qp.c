/*
 * Everything that was made on the import goes before it does.
 *
 * nearly: pd-unimport-busy, pd-of-child-released
 * expect: none
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_qp_init_attr_ex attr = qp_attr_ex(cq, imported);
	struct ibv_qp *owners = create_qp(pd, cq), *qp = create_qp(imported, cq), *extended;
	struct ibv_srq *srq = create_srq(imported);
	struct ibv_mw *mw = alloc_mw(imported);

	extended = PTR(ibv_create_qp_ex(context, &attr));
	MUST(extended);
	MUST(INT(ibv_destroy_qp(extended)) == 0);
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	MUST(INT(ibv_destroy_srq(srq)) == 0);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_qp(owners)) == 0);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
