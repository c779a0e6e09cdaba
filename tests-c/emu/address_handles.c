/*
 * Address handles: the kernel's on an Ethernet port, where they keep their PD; libmlx5's own on an InfiniBand port.
 */
#include "objects.h"

static struct ibv_context *context;
static struct ibv_pd *pd;

static struct ibv_ah_attr address(int is_global)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = is_global, .dlid = 1 };

	ibv_query_gid(context, 1, 0, &attr.grh.dgid);
	return attr;
}

static void on_infiniband(void)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	NEED(!ibv_query_port(context, 1, &port) && port.link_layer == IBV_LINK_LAYER_INFINIBAND && port.lid == 1);
	attr = address(0);
	NEED(ah = ibv_create_ah(pd, &attr));
	LIVE("ah", 0);
	ANSWERS(0, ibv_destroy_ah(ah));
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
}

static void on_ethernet(void)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	ask("{\"op\":\"link\",\"layer\":\"ethernet\",\"device\":0}");
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	NEED(!ibv_query_port(context, 1, &port) && port.link_layer == IBV_LINK_LAYER_ETHERNET && port.lid == 0);
	attr = address(0);
	REFUSED(EINVAL, ibv_create_ah(pd, &attr));
	attr = address(1);
	NEED(ah = ibv_create_ah(pd, &attr));
	LIVE("ah", 1);
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_destroy_ah(ah));
	LIVE("ah", 0);
	attr.grh.dgid.raw[0] = 0;
	REFUSED(EHOSTUNREACH, ibv_create_ah(pd, &attr));
	attr = address(1);
	fail_next("create_ah", ENOMEM);
	REFUSED(ENOMEM, ibv_create_ah(pd, &attr));
	NEED(ah = ibv_create_ah(pd, &attr));
	ask("{\"op\":\"remove\",\"device\":0}");
	LIVE("ah", 0);
	REFUSED(EIO, ibv_create_ah(pd, &attr));
	ANSWERS(0, ibv_destroy_ah(ah));
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
	ask("{\"op\":\"restore\",\"device\":0}");
	ask("{\"op\":\"link\",\"layer\":\"infiniband\",\"device\":0}");
}

int main(void)
{
	on_infiniband();
	on_ethernet();
	on_infiniband();
	printf("good\n");
	return 0;
}
