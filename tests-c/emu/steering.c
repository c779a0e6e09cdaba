/*
 * Steering rules, and the counters that they count into. Rules are for those who may send any frame: without
 * CAP_NET_RAW it is EPERM.
 */
#include "objects.h"

#include <linux/capability.h>
#include <sys/syscall.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

/* The specifications follow the attributes without gaps, which no struct of theirs would have. */
union rule {
	struct ibv_flow_attr attr;
	char bytes[256];
};

static void add(union rule *rule, const void *specification, size_t size)
{
	memcpy(rule->bytes + rule->attr.size, specification, size);
	rule->attr.size += size;
	rule->attr.num_of_specs++;
}

static union rule new_rule(struct ibv_counters *counters)
{
	union rule rule = { .attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(struct ibv_flow_attr), .port = 1 } };
	struct ibv_flow_spec_eth frame = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(frame) };
	struct ibv_flow_spec_counter_action counting = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(counting),
							 .counters = counters };

	memset(frame.mask.dst_mac, 0xff, 6);
	add(&rule, &frame, sizeof(frame));
	if (counters)
		add(&rule, &counting, sizeof(counting));
	return rule;
}

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = type,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 } };

	return ibv_create_qp(pd, &init);
}

static void rules(void)
{
	union rule rule = new_rule(NULL);
	struct ibv_qp *raw, *connected;
	struct ibv_flow *flow;

	NEED(raw = new_qp(IBV_QPT_RAW_PACKET));
	NEED(connected = new_qp(IBV_QPT_RC));
	REFUSED(EINVAL, ibv_create_flow(connected, &rule.attr));
	NEED(flow = ibv_create_flow(raw, &rule.attr));
	LIVE("flow", 1);
	ANSWERS(EBUSY, ibv_destroy_qp(raw));
	ANSWERS(0, ibv_destroy_flow(flow));
	fail_next("create_flow", ENOMEM);
	REFUSED(ENOMEM, ibv_create_flow(raw, &rule.attr));
	rule.attr.port = 2;
	REFUSED(EINVAL, ibv_create_flow(raw, &rule.attr));
	ANSWERS(0, ibv_destroy_qp(raw));
	ANSWERS(0, ibv_destroy_qp(connected));
	LIVE("flow", 0);
}

static void counting(void)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr attach = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_qp *raw = new_qp(IBV_QPT_RAW_PACKET);
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	uint64_t values[1] = { 7 };
	union rule rule;

	NEED(raw && (counters = ibv_create_counters(context, &init)));
	LIVE("counters", 1);
	ANSWERS(EINVAL, ibv_read_counters(counters, values, 1, 0));
	ANSWERS(0, ibv_attach_counters_point_flow(counters, &attach, NULL));
	rule = new_rule(counters);
	NEED(flow = ibv_create_flow(raw, &rule.attr));
	ANSWERS(0, ibv_read_counters(counters, values, 1, 0));
	NEED(values[0] == 0);
	ANSWERS(EBUSY, ibv_destroy_counters(counters));
	ANSWERS(0, ibv_destroy_flow(flow));
	ANSWERS(0, ibv_destroy_counters(counters));
	ANSWERS(0, ibv_destroy_qp(raw));
	fail_next("create_counters", ENOMEM);
	REFUSED(ENOMEM, ibv_create_counters(context, &init));
	LIVE("counters", 0);
}

static void without_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct ibv_qp *raw = new_qp(IBV_QPT_RAW_PACKET);
	union rule rule = new_rule(NULL);

	NEED(raw && !syscall(SYS_capset, &header, none));
	REFUSED(EPERM, new_qp(IBV_QPT_RAW_PACKET));
	REFUSED(EPERM, ibv_create_flow(raw, &rule.attr));
	ANSWERS(0, ibv_destroy_qp(raw));
}

int main(void)
{
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	NEED(cq = ibv_create_cq(context, 64, NULL, NULL, 0));
	rules();
	counting();
	without_rights();
	ANSWERS(0, ibv_destroy_cq(cq));
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
	printf("good\n");
	return 0;
}
