/*
 * The pointers of the data path are the provider's own, in a context that was opened and in one that was imported, and
 * in what is made there.
 *
 * expect: none
 */
#include "../common/queues.h"

#include <dlfcn.h>

/* 1 where the function lies in libmlx5. */
static int is_providers(void *function)
{
	Dl_info found;

	MUST(function && dladdr(function, &found) && found.dli_fname);
	return strstr(found.dli_fname, "libmlx5") != NULL;
}

#define PROVIDERS(field) MUST(INT(is_providers((void *)(field))))

static void look_at(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_cq_ex *cq;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;

	PROVIDERS(context->ops.poll_cq);
	PROVIDERS(context->ops.req_notify_cq);
	PROVIDERS(context->ops.post_send);
	PROVIDERS(context->ops.post_recv);
	PROVIDERS(context->ops.post_srq_recv);
	PROVIDERS(context->ops.bind_mw);
	cq = PTR(ibv_create_cq_ex(context, &cq_attr));
	MUST(cq);
	PROVIDERS(cq->start_poll);
	PROVIDERS(cq->next_poll);
	PROVIDERS(cq->end_poll);
	attr = qp_attr_ex(ibv_cq_ex_to_cq(cq), pd);
	qp = PTR(ibv_create_qp_ex(context, &attr));
	MUST(qp);
	ex = ibv_qp_to_qp_ex(qp);
	PROVIDERS(ex->wr_start);
	PROVIDERS(ex->wr_send);
	PROVIDERS(ex->wr_complete);
	INT(ibv_destroy_qp(qp));
	INT(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	INT(ibv_dealloc_pd(pd));
}

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);

	look_at(context);
	look_at(shared);
	INT(ibv_close_device(shared));
	INT(ibv_close_device(context));
	return 0;
}
