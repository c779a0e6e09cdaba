/*
 * A QP whose destroy fails is still there, and is destroyed by another try before its PD goes.
 *
 * expect: none
 * expect: no note children-left
 * lab: no, only the emulated device fails a request at will
 */
#include "../common/queues.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_qp *qp = create_qp(imported, cq);
	struct ibv_mw *mw = alloc_mw(imported);

	emu_control("{\"op\":\"fail\",\"kind\":\"destroy_qp\",\"errno\":16}");
	MUST(INT(ibv_destroy_qp(qp)) == EBUSY);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	emu_control("{\"op\":\"fail\",\"kind\":\"dealloc_mw\",\"errno\":16}");
	MUST(INT(ibv_dealloc_mw(mw)) == EBUSY);
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
