/*
 * A dealloc fails because of a QP and an MR of an import, which is gone, and of a memory window. All are named, with
 * their numbers and places, at the call and again when the context is closed.
 *
 * log: stderr
 * options: verbose=1
 * parity: no, numbers are the device's
 * shows: pd-dealloc-busy in ibv_dealloc_pd(pd)
 * shows: children known here: mw 0x
 * shows: , rkey 0x
 * shows: qp 0x
 * shows: , qp number 0x
 * shows: child:     mw 0x
 * shows: make_window pd_dealloc_busy_children.c
 * shows: WARNING: verbsguard: pd-dealloc-busy in ibv_close_device
 * shows: children-left in ibv_close_device
 * shows: was closed with 1 mr, 1 mw, 1 qp, 1 cq in it
 * exit: 0
 */
#include "../common/queues.h"

static __attribute__((noinline)) struct ibv_mw *make_window(struct ibv_pd *pd)
{
	struct ibv_mw *mw = alloc_mw(pd);

	MUST(mw);
	return mw;
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_cq *cq = create_cq(context);

	make_window(pd);
	reg_mr(imported);
	VOID(ibv_unimport_pd(imported));
	create_qp(pd, cq);
	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	INT(ibv_close_device(context));
	return 0;
}
