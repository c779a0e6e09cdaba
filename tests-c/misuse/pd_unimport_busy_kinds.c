/*
 * What does not read its PD later is a warning: a memory window, a shared receive queue, made either way.
 *
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 */
#include "../common/queues.h"

static void window(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_mw *mw = alloc_mw(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
}

static void receive_queue(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_srq *srq = create_srq(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_srq(srq)) == 0);
}

/* What is in its mask sends it through the context's pointer. */
static void extended_receive_queue(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *imported = import_pd(context, handle);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_BASIC,
		.pd = imported,
		.cq = NULL,
	};
	struct ibv_srq *srq = PTR(ibv_create_srq_ex(context, &attr));

	MUST(srq);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_destroy_srq(srq)) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	window(context, pd->handle);
	receive_queue(context, pd->handle);
	extended_receive_queue(context, pd->handle);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
