/*
 * Completion queues and channels, queue pairs through their states, and shared receive queues.
 */
#include "objects.h"

#include <fcntl.h>
#include <poll.h>

static struct ibv_context *context;
static struct ibv_pd *pd;

static void completion_queues(void)
{
	struct ibv_cq_init_attr_ex extended = { .cqe = 100, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_modify_cq_attr moderation = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *other;
	struct ibv_cq_ex *ex;
	struct mlx5dv_cq inside;
	struct ibv_wc wc;
	uint32_t number;

	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 100, NULL, channel, 0));
	NEED(cq->cqe == 127);
	NEED(other = ibv_create_cq(context, 1, NULL, NULL, 3));
	NEED(ex = ibv_create_cq_ex(context, &extended));
	LIVE("cq", 3);
	NEED(!mlx5dv_init_obj(&(struct mlx5dv_obj){ .cq = { cq, &inside } }, MLX5DV_OBJ_CQ));
	number = inside.cqn;
	NEED(!mlx5dv_init_obj(&(struct mlx5dv_obj){ .cq = { other, &inside } }, MLX5DV_OBJ_CQ));
	NEED(number && inside.cqn && number != inside.cqn);
	NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	ANSWERS(0, ibv_req_notify_cq(cq, 0));
	NEED(poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, 0) == 0);
	NEED(ibv_resize_cq(cq, 300) == ENOSYS);
	NEED(cq->cqe == 127);
	NEED(ibv_modify_cq(cq, &moderation) == EOPNOTSUPP);
	ANSWERS(0, ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
	ANSWERS(0, ibv_destroy_cq(other));
	ANSWERS(0, ibv_destroy_cq(cq));
	ANSWERS(0, ibv_destroy_comp_channel(channel));
	REFUSED(EINVAL, ibv_create_cq(context, 1, NULL, NULL, 4));
	LIVE("cq", 0);
}

/* A channel is one of this device file's. */
static void foreign_channel(void)
{
	struct ibv_context *elsewhere = open_context();
	struct ibv_comp_channel *channel;

	NEED(channel = ibv_create_comp_channel(elsewhere));
	REFUSED(EBADF, ibv_create_cq(context, 1, NULL, channel, 0));
	LIVE("cq", 0);
	ANSWERS(0, ibv_destroy_comp_channel(channel));
	ANSWERS(0, ibv_close_device(elsewhere));
}

static struct ibv_qp_init_attr with_cq(struct ibv_cq *cq, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type,
	};
}

static int state_of(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	struct ibv_qp_init_attr init;

	memset(attr, 0xff, sizeof(*attr));
	ANSWERS(0, ibv_query_qp(qp, attr, IBV_QP_STATE, &init));
	NEED(init.qp_type == qp->qp_type && init.send_cq == qp->send_cq);
	return attr->qp_state;
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = 77, .rq_psn = 5,
		.max_dest_rd_atomic = 2, .min_rnr_timer = 12, .ah_attr = { .dlid = 9, .sl = 3, .port_num = 1 },
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 6, .sq_psn = 4, .max_rd_atomic = 1, .qp_access_flags = 6,
	};
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr now;

	attr.port_num = 2;
	ANSWERS(EINVAL, ibv_modify_qp(qp, &attr, init));
	attr.port_num = 1;
	ANSWERS(EINVAL, ibv_modify_qp(qp, &attr, init & ~IBV_QP_PORT));
	ANSWERS(0, ibv_modify_qp(qp, &attr, init));
	NEED(state_of(qp, &now) == IBV_QPS_INIT && qp->state == IBV_QPS_INIT && now.port_num == 1 && now.qp_access_flags == 6);
	attr.qp_state = IBV_QPS_RTS;
	ANSWERS(EINVAL, ibv_modify_qp(qp, &attr, rts));
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.port_num = 2;
	ANSWERS(EINVAL, ibv_modify_qp(qp, &attr, rtr));
	attr.ah_attr.port_num = 1;
	ANSWERS(0, ibv_modify_qp(qp, &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	ANSWERS(0, ibv_modify_qp(qp, &attr, rts));
	NEED(state_of(qp, &now) == IBV_QPS_RTS);
	NEED(now.path_mtu == IBV_MTU_1024 && now.dest_qp_num == 77 && now.rq_psn == 5 && now.sq_psn == 4);
	NEED(now.max_dest_rd_atomic == 2 && now.max_rd_atomic == 1 && now.min_rnr_timer == 12 && now.timeout == 14);
	NEED(now.retry_cnt == 7 && now.rnr_retry == 6 && now.ah_attr.dlid == 9 && now.ah_attr.sl == 3);
}

static void queue_pairs(void)
{
	const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qps[3], *ex;
	struct ibv_qp_init_attr_ex extended;
	struct ibv_qp_attr now;
	struct ibv_cq *cq;

	NEED(cq = ibv_create_cq(context, 64, NULL, NULL, 0));
	for (int i = 0; i < 3; i++) {
		init = with_cq(cq, types[i]);
		NEED(qps[i] = ibv_create_qp(pd, &init));
		NEED(qps[i]->qp_num && (!i || qps[i]->qp_num != qps[i - 1]->qp_num));
	}
	memset(&extended, 0, sizeof(extended));
	init = with_cq(cq, IBV_QPT_RC);
	memcpy(&extended, &init, sizeof(init));
	extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	extended.pd = pd;
	extended.send_ops_flags = IBV_QP_EX_WITH_SEND;
	NEED(ex = ibv_create_qp_ex(context, &extended));
	LIVE("qp", 4);
	NEED(state_of(qps[0], &now) == IBV_QPS_RESET);
	to_rts(qps[0]);
	ANSWERS(EBUSY, ibv_destroy_cq(cq));
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_modify_qp(qps[0], &attr, IBV_QP_STATE));
	NEED(state_of(qps[0], &now) == IBV_QPS_ERR);
	attr.qp_state = IBV_QPS_RESET;
	ANSWERS(0, ibv_modify_qp(qps[0], &attr, IBV_QP_STATE));
	NEED(state_of(qps[0], &now) == IBV_QPS_RESET && now.dest_qp_num == 0);
	for (int i = 0; i < 3; i++)
		ANSWERS(0, ibv_destroy_qp(qps[i]));
	ANSWERS(0, ibv_destroy_qp(ex));
	LIVE("qp", 0);
	ANSWERS(0, ibv_destroy_cq(cq));
}

static void multicast(void)
{
	union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 7 } };
	struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr init = with_cq(cq, IBV_QPT_UD);
	struct ibv_qp *qp;

	NEED(qp = ibv_create_qp(pd, &init));
	ANSWERS(EINVAL, ibv_attach_mcast(qp, &group, 7));
	ANSWERS(0, ibv_attach_mcast(qp, &group, 0xc007));
	ANSWERS(EBUSY, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_detach_mcast(qp, &group, 0xc007));
	ANSWERS(EINVAL, ibv_detach_mcast(qp, &group, 0xc007));
	ANSWERS(0, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_destroy_cq(cq));
}

static void shared_receive_queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_srq_init_attr_ex extended = { .attr = { .max_wr = 10, .max_sge = 1 }, .comp_mask = IBV_SRQ_INIT_ATTR_PD,
						 .pd = pd };
	struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr pair = with_cq(cq, IBV_QPT_RC);
	struct ibv_srq *srq, *ex;
	struct ibv_srq_attr attr;
	struct ibv_qp *qp;
	uint32_t numbers[2];

	NEED(srq = ibv_create_srq(pd, &init));
	NEED(ex = ibv_create_srq_ex(context, &extended));
	LIVE("srq", 2);
	ANSWERS(0, ibv_get_srq_num(srq, &numbers[0]));
	ANSWERS(0, ibv_get_srq_num(ex, &numbers[1]));
	NEED(numbers[0] && numbers[0] != numbers[1]);
	ANSWERS(0, ibv_query_srq(srq, &attr));
	NEED(attr.max_wr >= 100 && attr.srq_limit == 0);
	attr.srq_limit = 50;
	ANSWERS(0, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	ANSWERS(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	attr.srq_limit = 0;
	ANSWERS(0, ibv_query_srq(srq, &attr));
	NEED(attr.srq_limit == 50);
	pair.srq = srq;
	NEED(qp = ibv_create_qp(pd, &pair));
	ANSWERS(EBUSY, ibv_destroy_srq(srq));
	ANSWERS(0, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_destroy_srq(srq));
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_destroy_srq(ex));
	LIVE("srq", 0);
	ANSWERS(0, ibv_destroy_cq(cq));
}

/* DCT: a number only when it is ready. DCI: sends to any of them. */
static void dynamically_connected(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &shared);
	struct ibv_qp_init_attr_ex init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_DRIVER,
					    .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd, .cap = { .max_send_wr = 8, .max_send_sge = 1 } };
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024,
				    .ah_attr = { .port_num = 1 }, .min_rnr_timer = 1 };
	struct ibv_qp *target, *initiator;

	dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	NEED(initiator = mlx5dv_create_qp(context, &init, &dv));
	ANSWERS(0, ibv_modify_qp(initiator, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT));
	dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
	REFUSED(EINVAL, mlx5dv_create_qp(context, &init, &dv));
	init.srq = srq;
	NEED(target = mlx5dv_create_qp(context, &init, &dv));
	NEED(target->qp_num == 0);
	ANSWERS(0, ibv_modify_qp(target, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	ANSWERS(0, ibv_modify_qp(target, &attr, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER));
	NEED(target->qp_num && target->qp_num != initiator->qp_num);
	LIVE("qp", 2);
	ANSWERS(0, ibv_destroy_qp(initiator));
	ANSWERS(EBUSY, ibv_destroy_srq(srq));
	ANSWERS(0, ibv_destroy_qp(target));
	ANSWERS(0, ibv_destroy_srq(srq));
	ANSWERS(0, ibv_destroy_cq(cq));
}

/* Whatever a test asks to fail fails once, and leaves nothing behind. */
static void made_to_fail(void)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	fail_next("create_comp_channel", EMFILE);
	REFUSED(EMFILE, ibv_create_comp_channel(context));
	fail_next("create_cq", ENOMEM);
	REFUSED(ENOMEM, ibv_create_cq(context, 1, NULL, NULL, 0));
	NEED(cq = ibv_create_cq(context, 1, NULL, NULL, 0));
	init = with_cq(cq, IBV_QPT_RC);
	fail_next("create_qp", ENOMEM);
	REFUSED(ENOMEM, ibv_create_qp(pd, &init));
	fail_next("create_srq", ENOMEM);
	REFUSED(ENOMEM, ibv_create_srq(pd, &shared));
	init = with_cq(cq, IBV_QPT_RC);
	NEED(qp = ibv_create_qp(pd, &init));
	NEED(srq = ibv_create_srq(pd, &shared));
	fail_next("modify_qp", EIO);
	ANSWERS(EIO, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	fail_next("destroy_qp", EIO);
	ANSWERS(EIO, ibv_destroy_qp(qp));
	fail_next("destroy_srq", EIO);
	ANSWERS(EIO, ibv_destroy_srq(srq));
	fail_next("destroy_cq", EIO);
	ANSWERS(EIO, ibv_destroy_cq(cq));
	LIVE("qp", 1);
	ANSWERS(0, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_destroy_srq(srq));
	ANSWERS(0, ibv_destroy_cq(cq));
}

/* A removed device makes nothing more, and says 0 to each destruction. */
static void removed(void)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = with_cq(cq, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq *srq = ibv_create_srq(pd, &shared);
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEED(cq && srq && qp);
	ask("{\"op\":\"remove\",\"device\":0}");
	LIVE("qp", 0);
	REFUSED(EIO, ibv_create_cq(context, 1, NULL, NULL, 0));
	REFUSED(EIO, ibv_create_srq(pd, &shared));
	init = with_cq(cq, IBV_QPT_RC);
	REFUSED(EIO, ibv_create_qp(pd, &init));
	ANSWERS(EIO, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	ANSWERS(0, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_destroy_srq(srq));
	ANSWERS(0, ibv_destroy_cq(cq));
	ANSWERS(0, ibv_dealloc_pd(pd));
}

/* What a process leaves behind goes with it, whatever hangs on what. */
static void left_open(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = with_cq(cq, IBV_QPT_RC);

	NEED(ibv_create_qp(pd, &init));
}

int main(void)
{
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	completion_queues();
	foreign_channel();
	queue_pairs();
	multicast();
	shared_receive_queues();
	dynamically_connected();
	made_to_fail();
	left_open();
	close_context(context);
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	removed();
	close_context(context);
	printf("good\n");
	return 0;
}
