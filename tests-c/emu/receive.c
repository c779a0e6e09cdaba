/*
 * Work queues, tables of them and the queue pairs that spread over a table; domains of extended reliable connections.
 */
#include "objects.h"

#include <fcntl.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static struct ibv_wq *new_wq(void)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = pd, .cq = cq };

	return ibv_create_wq(context, &init);
}

static void work_queues(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq_attr flags = { .attr_mask = IBV_WQ_ATTR_FLAGS, .flags = IBV_WQ_FLAGS_CVLAN_STRIPPING,
				     .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING };
	struct ibv_wq *wq, *other;

	NEED(wq = new_wq());
	NEED(other = new_wq());
	NEED(wq->wq_num && wq->wq_num != other->wq_num);
	LIVE("wq", 2);
	ANSWERS(0, ibv_modify_wq(wq, &attr));
	attr.wq_state = IBV_WQS_ERR;
	ANSWERS(0, ibv_modify_wq(wq, &attr));
	attr.wq_state = IBV_WQS_RDY;
	ANSWERS(EINVAL, ibv_modify_wq(wq, &attr));
	ANSWERS(EOPNOTSUPP, ibv_modify_wq(wq, &flags));
	ANSWERS(EBUSY, ibv_destroy_cq(cq));
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_destroy_wq(other));
	ANSWERS(0, ibv_destroy_wq(wq));
	fail_next("create_wq", ENOMEM);
	REFUSED(ENOMEM, new_wq());
	LIVE("wq", 0);
}

static void tables(void)
{
	static struct ibv_wq *many[4096];
	struct ibv_wq *queues[2] = { new_wq(), new_wq() };
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1, .ind_tbl = queues };
	uint8_t key[40] = { 1 };
	struct ibv_qp_init_attr_ex spread = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key, .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 },
	};
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;

	NEED(table = ibv_create_rwq_ind_table(context, &init));
	NEED(table->ind_tbl_num);
	ANSWERS(EBUSY, ibv_destroy_wq(queues[1]));
	spread.rwq_ind_tbl = table;
	NEED(qp = ibv_create_qp_ex(context, &spread));
	LIVE("rwq_ind_table", 1);
	LIVE("qp", 1);
	ANSWERS(EBUSY, ibv_destroy_rwq_ind_table(table));
	ANSWERS(0, ibv_destroy_qp(qp));
	spread.rx_hash_conf.rx_hash_key_len = 39;
	REFUSED(EINVAL, ibv_create_qp_ex(context, &spread));
	ANSWERS(0, ibv_destroy_rwq_ind_table(table));
	fail_next("create_rwq_ind_table", EAGAIN);
	REFUSED(EAGAIN, ibv_create_rwq_ind_table(context, &init));
	/* The largest, whose command is longer than a message between shim and daemon; and one too large. */
	for (int i = 0; i < 4096; i++)
		many[i] = queues[i % 2];
	init.ind_tbl = many;
	init.log_ind_tbl_size = 12;
	REFUSED(EINVAL, ibv_create_rwq_ind_table(context, &init));
	init.log_ind_tbl_size = 11;
	NEED(table = ibv_create_rwq_ind_table(context, &init));
	ANSWERS(EBUSY, ibv_destroy_wq(queues[1]));
	ANSWERS(0, ibv_destroy_rwq_ind_table(table));
	init.ind_tbl = queues;
	init.log_ind_tbl_size = 0;
	NEED(table = ibv_create_rwq_ind_table(context, &init));
	ANSWERS(0, ibv_destroy_wq(queues[1]));
	ANSWERS(0, ibv_destroy_rwq_ind_table(table));
	ANSWERS(0, ibv_destroy_wq(queues[0]));
	LIVE("rwq_ind_table", 0);
}

static struct ibv_xrcd *open_domain(struct ibv_context *on, int fd, int flags)
{
	struct ibv_xrcd_init_attr init = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd,
					   .oflags = flags };

	return ibv_open_xrcd(on, &init);
}

static void domains(void)
{
	struct ibv_context *elsewhere = open_context();
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct ibv_xrcd *own, *shared, *again;

	NEED(own = open_domain(context, -1, O_CREAT));
	REFUSED(EAGAIN, open_domain(context, fd, 0));
	NEED(shared = open_domain(context, fd, O_CREAT));
	NEED(again = open_domain(elsewhere, fd, 0));
	REFUSED(EINVAL, open_domain(elsewhere, fd, O_CREAT | O_EXCL));
	LIVE("xrcd", 3);
	ANSWERS(0, ibv_close_xrcd(shared));
	ANSWERS(0, ibv_close_xrcd(again));
	REFUSED(EAGAIN, open_domain(context, fd, 0));
	ANSWERS(0, ibv_close_xrcd(own));
	LIVE("xrcd", 0);
	close(fd);
	ANSWERS(0, ibv_close_device(elsewhere));
}

static void extended_connections(void)
{
	struct ibv_xrcd *domain = open_domain(context, -1, O_CREAT);
	struct ibv_srq_init_attr_ex shared = {
		.attr = { .max_wr = 10, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .cq = cq, .xrcd = domain,
	};
	struct ibv_qp_init_attr_ex receiver = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						.xrcd = domain };
	struct ibv_qp_init_attr_ex sender = { .qp_type = IBV_QPT_XRC_SEND, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
					      .send_cq = cq, .cap = { .max_send_wr = 8, .max_send_sge = 1 } };
	struct ibv_qp_init_attr plain = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
					  .cap = { .max_send_wr = 8, .max_send_sge = 1 } };
	struct ibv_qp *qps[2];
	struct ibv_srq *srq;
	uint32_t number;

	NEED(domain);
	NEED(srq = ibv_create_srq_ex(context, &shared));
	ANSWERS(0, ibv_get_srq_num(srq, &number));
	NEED(number);
	NEED(qps[0] = ibv_create_qp_ex(context, &receiver));
	NEED(qps[1] = ibv_create_qp_ex(context, &sender));
	NEED(qps[0]->qp_num && qps[0]->qp_num != qps[1]->qp_num);
	plain.srq = srq;
	REFUSED(EINVAL, ibv_create_qp(pd, &plain));
	ANSWERS(EBUSY, ibv_close_xrcd(domain));
	ANSWERS(0, ibv_destroy_srq(srq));
	ANSWERS(EBUSY, ibv_close_xrcd(domain));
	ANSWERS(0, ibv_destroy_qp(qps[0]));
	ANSWERS(0, ibv_close_xrcd(domain));
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_destroy_qp(qps[1]));
	LIVE("qp", 0);
}

static void removed(void)
{
	struct ibv_wq *queue = new_wq();
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 0, .ind_tbl = &queue };
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(context, &init);
	struct ibv_xrcd *domain = open_domain(context, -1, O_CREAT);

	NEED(queue && table && domain);
	ask("{\"op\":\"remove\",\"device\":0}");
	REFUSED(EIO, new_wq());
	REFUSED(EIO, ibv_create_rwq_ind_table(context, &init));
	REFUSED(EIO, open_domain(context, -1, O_CREAT));
	ANSWERS(0, ibv_destroy_rwq_ind_table(table));
	ANSWERS(0, ibv_destroy_wq(queue));
	ANSWERS(0, ibv_close_xrcd(domain));
}

int main(void)
{
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	NEED(cq = ibv_create_cq(context, 64, NULL, NULL, 0));
	work_queues();
	tables();
	domains();
	extended_connections();
	removed();
	ANSWERS(0, ibv_destroy_cq(cq));
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
	printf("good\n");
	return 0;
}
