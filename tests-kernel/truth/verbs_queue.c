/* CQs, SRQs and QPs: as children of a PD and as users of each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "verbs.h"

static void create_channel(struct call *call)
{
	made(call, CHANNEL, ibv_create_comp_channel(object(call, 0, CONTEXT)->context));
}

static void destroy_channel(struct call *call)
{
	struct object *channel = object(call, 0, CHANNEL);

	ended(call, channel, ibv_destroy_comp_channel(channel->channel));
}

/* create_cq CONTEXT [CHANNEL] [vector=N] */
static void create_cq(struct call *call)
{
	bool with_channel = call->request->count > 1 && !strchr(call->request->args[1].text, '=');
	struct ibv_comp_channel *channel = with_channel ? object(call, 1, CHANNEL)->channel : NULL;
	struct ibv_cq *cq = ibv_create_cq(object(call, 0, CONTEXT)->context, 16, NULL, channel, option(call, "vector", 0));
	struct mlx5dv_cq inside = { 0 };

	if (!made(call, CQ, cq))
		return;
	if (mlx5dv_init_obj(&(struct mlx5dv_obj){ .cq = { cq, &inside } }, MLX5DV_OBJ_CQ))
		bad_call(call, "libmlx5 does not know its own queue");
	call->reply->value = (struct value){ .handle = cq->handle, .id = inside.cqn };
}

static void destroy_cq(struct call *call)
{
	struct object *cq = object(call, 0, CQ);

	ended(call, cq, ibv_destroy_cq(cq->cq));
}

static void create_srq(struct call *call)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(object(call, 0, PD)->pd, &attr);

	if (made(call, SRQ, srq))
		call->reply->value.handle = srq->handle;
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
	struct ibv_qp *qp = ibv_create_qp(object(call, 0, PD)->pd, &attr);

	if (made(call, QP, qp))
		call->reply->value = (struct value){ .handle = qp->handle, .id = qp->qp_num };
}

/* The attributes that a connected queue pair needs to come to a state. */
static const struct {
	const char *name;
	int mask;
} states[] = {
	[IBV_QPS_RESET] = { "reset", 0 },
	[IBV_QPS_INIT] = { "init", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	[IBV_QPS_RTR] = { "rtr", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS] = { "rts", IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				 IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPS_SQD] = { "sqd", 0 },
	[IBV_QPS_SQE] = { "sqe", 0 },
	[IBV_QPS_ERR] = { "err", 0 },
};

enum { STATES = sizeof(states) / sizeof(states[0]) };

static int modify(struct ibv_qp *qp, int state, int mask, int port)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = port, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1, .alt_port_num = 1,
		.ah_attr = { .port_num = port, .dlid = 1 }, .alt_ah_attr = { .port_num = 1, .dlid = 1 },
	};

	return ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);
}

/* modify_qp QP STATE [without=port] [port=N]: with the attributes that the state needs. */
static void modify_qp(struct call *call)
{
	int without = text_option(call, "without") ? IBV_QP_PORT : 0;

	for (int i = 0; i < STATES; i++)
		if (!strcmp(call->request->args[1].text, states[i].name)) {
			answered(call, modify(object(call, 0, QP)->qp, i, states[i].mask & ~without,
					      option(call, "port", 1)));
			return;
		}
	bad_call(call, "no such state");
}

/* What queue pairs of each type need on the way to be ready. */
static int needed(int type, int state)
{
	switch (type == IBV_QPT_RC ? -1 : state) {
	case IBV_QPS_INIT:
		return type == IBV_QPT_UD ? IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY : states[state].mask;
	case IBV_QPS_RTR:
		return type == IBV_QPT_UD ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	case IBV_QPS_RTS:
		return type == IBV_QPT_XRC_SEND ? states[state].mask : IBV_QP_SQ_PSN;
	default:
		return states[state].mask;
	}
}

static int bring(struct ibv_qp *qp, int state)
{
	int result = modify(qp, IBV_QPS_RESET, 0, 1);

	for (int i = IBV_QPS_INIT; i <= state && i < IBV_QPS_SQE; i++)
		result |= modify(qp, i, needed(qp->qp_type, i), 1);
	return state < IBV_QPS_SQE ? result : result | modify(qp, state, 0, 1);
}

/*
 * transitions PD CQ type=N: every change of every state, with the attributes it needs and with each one more or less.
 * The handle is how many were allowed; the id a sum over them, so that kernels that differ in one answer differ in it.
 * What the program takes the state to be (bit 1) is the driver's matter.
 */
static void transitions(struct call *call)
{
	struct ibv_cq *cq = object(call, 1, CQ)->cq;
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = option(call, "type", IBV_QPT_RC),
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(object(call, 0, PD)->pd, &init);
	uint32_t sum = 0, allowed = 0;

	if (!made(call, QP, qp))
		return;
	for (int from = 0; from < STATES; from++)
		for (int to = 0; from != IBV_QPS_SQE && to < STATES; to++)
			for (int bit = 2; bit <= 20; bit++) {
				if (bring(qp, from))
					bad_call(call, states[from].name);
				/* Bit 19 is for all other types; here it stands for nothing more and nothing less. */
				if (modify(qp, to, needed(init.qp_type, to) ^ (bit == 19 ? 0 : 1 << bit), 1))
					continue;
				sum = sum * 31 + (from * STATES + to) * 32 + bit;
				allowed++;
			}
	call->reply->value = (struct value){ .handle = allowed, .id = sum };
}

/* query_qp QP STATE: succeeds where that is its state. */
static void query_qp(struct call *call)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int result = ibv_query_qp(object(call, 0, QP)->qp, &attr, IBV_QP_STATE, &init);

	if (!result && strcmp(states[attr.qp_state % STATES].name, call->request->args[1].text))
		bad_call(call, states[attr.qp_state % STATES].name);
	answered(call, result);
}

static void destroy_qp(struct call *call)
{
	struct object *qp = object(call, 0, QP);

	ended(call, qp, ibv_destroy_qp(qp->qp));
}

const struct verb queue_verbs[] = {
	{ "create_channel", create_channel },
	{ "destroy_channel", destroy_channel },
	{ "create_cq", create_cq },
	{ "destroy_cq", destroy_cq },
	{ "create_srq", create_srq },
	{ "destroy_srq", destroy_srq },
	{ "create_qp", create_qp },
	{ "modify_qp", modify_qp },
	{ "transitions", transitions },
	{ "query_qp", query_qp },
	{ "destroy_qp", destroy_qp },
	{ NULL, NULL },
};
