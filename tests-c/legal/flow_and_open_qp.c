/*
 * A steering rule on a raw packet QP, where this process may make one; a QP of an XRC domain that is opened by its
 * number; an encryption key, where the device has such.
 *
 * expect: none
 * expect: no note children-left
 * lab: no, the stand-in driver has no flows
 */
#include "../common/every_child.h"

static void flow(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_flow_spec_eth frame = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(frame) };
	/* The specification follows the attributes without a gap. */
	union {
		struct ibv_flow_attr attr;
		char bytes[128];
	} rule = {
		.attr = {
			.type = IBV_FLOW_ATTR_NORMAL,
			.size = sizeof(rule.attr) + sizeof(frame),
			.num_of_specs = 1,
			.port = 1,
		},
	};
	struct ibv_qp_init_attr attr = qp_attr(cq);
	struct ibv_flow *flow;
	struct ibv_qp *qp;

	attr.qp_type = IBV_QPT_RAW_PACKET;
	qp = PTR(ibv_create_qp(pd, &attr));
	if (!qp && errno == EPERM)
		return;
	MUST(qp);
	memcpy(rule.bytes + sizeof(rule.attr), &frame, sizeof(frame));
	flow = PTR(ibv_create_flow(qp, &rule.attr));
	MUST(flow);
	MUST(INT(ibv_destroy_qp(qp)) == EBUSY);
	MUST(INT(ibv_destroy_flow(flow)) == 0);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
}

static void opened(struct ibv_context *context)
{
	struct ibv_xrcd *xrcd = open_xrcd(context);
	struct ibv_qp_init_attr_ex receiver = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd
	};
	struct ibv_qp *qp = PTR(ibv_create_qp_ex(context, &receiver)), *again;
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	MUST(qp);
	attr.qp_num = qp->qp_num;
	again = PTR(ibv_open_qp(context, &attr));
	if (again)
		MUST(INT(ibv_destroy_qp(again)) == 0);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	MUST(INT(ibv_close_xrcd(xrcd)) == 0);
}

static void encryption_key(struct ibv_pd *pd)
{
	struct mlx5dv_dek_init_attr attr = { .key_size = MLX5DV_CRYPTO_KEY_SIZE_128, .pd = pd };
	struct mlx5dv_dek *dek = PTR(mlx5dv_dek_create(pd->context, &attr));

	if (dek)
		MUST(INT(mlx5dv_dek_destroy(dek)) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);

	flow(pd, cq);
	opened(context);
	encryption_key(pd);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
