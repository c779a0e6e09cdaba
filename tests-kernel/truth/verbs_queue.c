/* CQs, SRQs and QPs: as children of a PD and as users of each other. */
#define _GNU_SOURCE
#include <errno.h>

#include "verbs.h"

static void create_cq(struct call *call)
{
	made(call, CQ, ibv_create_cq(object(call, 0, CONTEXT)->context, 16, NULL, NULL, 0));
}

static void destroy_cq(struct call *call)
{
	struct object *cq = object(call, 0, CQ);

	ended(call, cq, ibv_destroy_cq(cq->cq));
}

static void create_srq(struct call *call)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	made(call, SRQ, ibv_create_srq(object(call, 0, PD)->pd, &attr));
}

static void destroy_srq(struct call *call)
{
	struct object *srq = object(call, 0, SRQ);

	ended(call, srq, ibv_destroy_srq(srq->srq));
}

/* create_qp PD CQ [SRQ] */
static void create_qp(struct call *call)
{
	struct ibv_cq *cq = object(call, 1, CQ)->cq;
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = call->request->count > 2 ? object(call, 2, SRQ)->srq : NULL,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	made(call, QP, ibv_create_qp(object(call, 0, PD)->pd, &attr));
}

static void qp_to_init(struct call *call)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	answered(call, ibv_modify_qp(object(call, 0, QP)->qp, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static void destroy_qp(struct call *call)
{
	struct object *qp = object(call, 0, QP);

	ended(call, qp, ibv_destroy_qp(qp->qp));
}

const struct verb queue_verbs[] = {
	{ "create_cq", create_cq },
	{ "destroy_cq", destroy_cq },
	{ "create_srq", create_srq },
	{ "destroy_srq", destroy_srq },
	{ "create_qp", create_qp },
	{ "qp_to_init", qp_to_init },
	{ "destroy_qp", destroy_qp },
	{ NULL, NULL },
};
