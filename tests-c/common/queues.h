/*
 * Queues for the test programs: the smallest that a device takes.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include "trace.h"

__attribute__((unused)) static struct ibv_cq *create_cq(struct ibv_context *context)
{
	struct ibv_cq *cq = PTR(ibv_create_cq(context, 16, NULL, NULL, 0));

	MUST(cq);
	return cq;
}

__attribute__((unused)) static struct ibv_qp_init_attr qp_attr(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
}

/* With work request functions, so that it goes through the context's pointer. */
__attribute__((unused)) static struct ibv_qp_init_attr_ex qp_attr_ex(struct ibv_cq *cq, struct ibv_pd *pd)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
}

__attribute__((unused)) static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = qp_attr(cq);
	struct ibv_qp *qp = PTR(ibv_create_qp(pd, &attr));

	MUST(qp);
	return qp;
}

__attribute__((unused)) static struct ibv_srq *create_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = PTR(ibv_create_srq(pd, &attr));

	MUST(srq);
	return srq;
}

__attribute__((unused)) static struct ibv_mw *alloc_mw(struct ibv_pd *pd)
{
	struct ibv_mw *mw = PTR(ibv_alloc_mw(pd, IBV_MW_TYPE_1));

	MUST(mw);
	return mw;
}

__attribute__((unused)) static struct ibv_pd *alloc_parent_domain(struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *domain = PTR(ibv_alloc_parent_domain(pd->context, &attr));

	MUST(domain);
	return domain;
}

#endif
