// SPDX-License-Identifier: MIT OR GPL-2.0
/* CQs, QPs and SRQs as objects with a number and nothing else: no queue is ever read. */
#include <linux/version.h>

#include "standin.h"

static DEFINE_IDA(numbers);

struct standin_cq {
	struct ib_cq ib;
	u32 number;
};

struct standin_srq {
	struct ib_srq ib;
	u32 number;
};

struct standin_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
};

static void number_free(u32 number, enum standin_kind kind)
{
	ida_free(&numbers, number);
	atomic_dec(&standin_live[kind]);
}

/* CQs and SRQs have the same answer: their number and a zero. */
static int number_answer(u32 *number, enum standin_kind kind, struct ib_udata *udata)
{
	struct mlx5_ib_create_cq_resp answer = {};
	int fresh = standin_number(&numbers);
	int err;

	if (fresh < 0)
		return fresh;
	*number = answer.cqn = fresh;
	err = standin_answer(udata, &answer, sizeof(answer));
	if (err)
		ida_free(&numbers, fresh);
	else
		atomic_inc(&standin_live[kind]);
	return err;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
#else
static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
#endif
	ibcq->cqe = attr->cqe;
	return number_answer(&container_of(ibcq, struct standin_cq, ib)->number, CQ, udata);
}

static int destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	number_free(container_of(ibcq, struct standin_cq, ib)->number, CQ);
	return 0;
}

static int create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	return number_answer(&container_of(ibsrq, struct standin_srq, ib)->number, SRQ, udata);
}

static int destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	number_free(container_of(ibsrq, struct standin_srq, ib)->number, SRQ);
	return 0;
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp answer = {};
	int number = standin_number(&numbers);
	int err;

	if (number < 0)
		return number;
	ibqp->qp_num = number;
	err = standin_answer(udata, &answer, sizeof(answer));
	if (err)
		ida_free(&numbers, number);
	else
		atomic_inc(&standin_live[QP]);
	return err;
}

static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct standin_qp *qp = container_of(ibqp, struct standin_qp, ib);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : qp->state;

	if (!ib_modify_qp_is_ok(qp->state, next, ibqp->qp_type, mask))
		return -EINVAL;
	qp->state = next;
	return 0;
}

static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	attr->qp_state = container_of(ibqp, struct standin_qp, ib)->state;
	return 0;
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	number_free(ibqp->qp_num, QP);
	return 0;
}

const struct ib_device_ops standin_queue_ops = {
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.create_srq = create_srq,
	.destroy_srq = destroy_srq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	INIT_RDMA_OBJ_SIZE(ib_cq, standin_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, standin_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, standin_qp, ib),
};
