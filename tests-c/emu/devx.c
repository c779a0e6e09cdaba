/*
 * DEVX: what the firmware is asked to make, change and tell; keys; event channels; what a small device refuses.
 */
#include "objects.h"

#include <dlfcn.h>
#include <poll.h>

enum { CREATE_MKEY = 0x200, CREATE_CQ = 0x400, QUERY_QP = 0x50b, ALLOC_PD = 0x800, CREATE_TIR = 0x900, MODIFY_TIS = 0x913,
       CREATE_TIS = 0x912, QUERY_TIS = 0x915, CREATE_GENERAL = 0xa00, DESTROY_TIS = 0x914 };

static struct ibv_context *context;
static struct ibv_pd *pd;

static struct mlx5dv_devx_obj *make(int opcode, uint32_t *number)
{
	uint8_t in[64] = { opcode >> 8, opcode & 0xff, [40] = 77 }, out[16];
	struct mlx5dv_devx_obj *made;

	memset(out, 0xff, sizeof(out));
	made = mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
	NEED(!made || (!out[0] && !out[4] && !out[5] && !out[6] && !out[7]));
	*number = out[9] << 16 | out[10] << 8 | out[11];
	return made;
}

static void objects(void)
{
	const int opcodes[] = { CREATE_MKEY, CREATE_CQ, ALLOC_PD, CREATE_TIR, CREATE_TIS, CREATE_GENERAL };
	uint8_t ask_tis[32] = { QUERY_TIS >> 8, QUERY_TIS & 0xff }, change_tis[64] = { MODIFY_TIS >> 8, MODIFY_TIS & 0xff };
	struct mlx5dv_devx_obj *made[6], *other;
	uint8_t out[64];
	uint32_t number, another;

	for (int i = 0; i < 6; i++) {
		NEED(made[i] = make(opcodes[i], &number));
		NEED(other = make(opcodes[i], &another));
		NEED(number && number != another);
		ANSWERS(0, mlx5dv_devx_obj_destroy(other));
	}
	LIVE("devx_obj", 6);
	memset(out, 0xff, sizeof(out));
	ANSWERS(0, mlx5dv_devx_obj_query(made[4], ask_tis, sizeof(ask_tis), out, sizeof(out)));
	NEED(!out[0] && !out[1] && out[40] == 77 && !out[63]);
	ANSWERS(0, mlx5dv_devx_obj_modify(made[4], change_tis, sizeof(change_tis), out, sizeof(out)));
	/* A firmware's objects hang on nothing that the kernel knows. */
	for (int i = 0; i < 6; i++)
		ANSWERS(0, mlx5dv_devx_obj_destroy(made[i]));
	REFUSED(EINVAL, make(DESTROY_TIS, &number));
	fail_next("devx_obj_create", EREMOTEIO);
	REFUSED(EREMOTEIO, make(CREATE_TIS, &number));
	LIVE("devx_obj", 0);
}

/* Two spaces would give a key twice. */
static void keys(void)
{
	struct mlx5dv_mkey_init_attr init = { .pd = pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4 };
	static char bytes[4096];
	struct mlx5dv_mkey *mkey;
	struct ibv_mr *mr;

	NEED(mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE));
	NEED(mkey = mlx5dv_create_mkey(&init));
	NEED(mkey->lkey && mkey->lkey >> 8 != mr->lkey >> 8);
	LIVE("devx_obj", 1);
	ANSWERS(0, mlx5dv_destroy_mkey(mkey));
	ANSWERS(0, ibv_dereg_mr(mr));
}

static void keys_of_other_kinds(void)
{
	struct mlx5dv_mkey_init_attr signature = { .pd = pd, .max_entries = 4, .create_flags =
		MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE };
	struct mlx5dv_mkey_init_attr encrypted = { .pd = pd, .max_entries = 4, .create_flags =
		MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO };
	struct mlx5dv_dek_init_attr init = {
		.key_size = MLX5DV_CRYPTO_KEY_SIZE_128, .key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS, .pd = pd,
		.opaque = "seen", .comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
	};
	struct mlx5dv_dek_attr told = { 0 };
	struct mlx5dv_mkey *keys[2];
	struct mlx5dv_dek *dek;

	NEED(keys[0] = mlx5dv_create_mkey(&signature));
	/* A signature has a state for the memory and one for the wire. */
	LIVE("devx_obj", 3);
	NEED(keys[1] = mlx5dv_create_mkey(&encrypted));
	NEED(keys[0]->lkey && keys[0]->lkey != keys[1]->lkey);
	NEED(dek = mlx5dv_dek_create(context, &init));
	ANSWERS(0, mlx5dv_dek_query(dek, &told));
	NEED(told.state == MLX5DV_DEK_STATE_READY && !strcmp(told.opaque, init.opaque));
	ANSWERS(0, mlx5dv_dek_destroy(dek));
	ANSWERS(0, mlx5dv_destroy_mkey(keys[1]));
	ANSWERS(0, mlx5dv_destroy_mkey(keys[0]));
	LIVE("devx_obj", 0);
}

/* What the kernel made can be asked for by the same way. */
static void of_a_queue_pair(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	uint8_t in[16] = { QUERY_QP >> 8, QUERY_QP & 0xff }, out[256];
	struct ibv_qp *qp;

	NEED(cq && (qp = ibv_create_qp(pd, &init)));
	memset(out, 0xff, sizeof(out));
	ANSWERS(0, mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)));
	NEED(!out[0] && !out[255]);
	ANSWERS(0, ibv_destroy_qp(qp));
	ANSWERS(0, ibv_destroy_cq(cq));
}

static void events(void)
{
	struct mlx5dv_devx_event_channel *channel;
	struct mlx5dv_devx_obj *object;
	uint16_t event = 0;
	uint32_t number, queue;

	ANSWERS(0, mlx5dv_devx_query_eqn(context, 0, &queue));
	ANSWERS(EINVAL, mlx5dv_devx_query_eqn(context, 99, &queue));
	NEED(object = make(CREATE_CQ, &number));
	NEED(channel = mlx5dv_devx_create_event_channel(context, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA));
	ANSWERS(0, mlx5dv_devx_subscribe_devx_event(channel, object, sizeof(event), &event, 7));
	NEED(poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, 0) == 0);
	mlx5dv_devx_destroy_event_channel(channel);
	ANSWERS(0, mlx5dv_devx_obj_destroy(object));
}

static void in_background(void)
{
	struct {
		struct mlx5dv_devx_async_cmd_hdr head;
		uint8_t out[64];
	} answer;
	uint8_t in[32] = { QUERY_TIS >> 8, QUERY_TIS & 0xff };
	struct mlx5dv_devx_cmd_comp *answers, *elsewhere;
	struct mlx5dv_devx_obj *object;
	uint32_t number;

	NEED(object = make(CREATE_TIS, &number));
	NEED(answers = mlx5dv_devx_create_cmd_comp(context));
	NEED(elsewhere = mlx5dv_devx_create_cmd_comp(context));
	ANSWERS(0, mlx5dv_devx_obj_query_async(object, in, sizeof(in), 32, 7, answers));
	ANSWERS(0, mlx5dv_devx_obj_query_async(object, in, sizeof(in), 48, 8, answers));
	NEED(poll(&(struct pollfd){ .fd = elsewhere->fd, .events = POLLIN }, 1, 0) == 0);
	for (int i = 0; i < 2; i++) {
		memset(&answer, 0xff, sizeof(answer));
		ANSWERS(0, mlx5dv_devx_get_async_cmd_comp(answers, &answer.head, sizeof(answer)));
		NEED(answer.head.wr_id == (i ? 8 : 7) && !answer.head.out_data[0]);
		NEED(!i || answer.head.out_data[40] == 77);
		NEED(!answer.head.out_data[i ? 47 : 31] && answer.head.out_data[i ? 48 : 32] == 0xff);
	}
	mlx5dv_devx_destroy_cmd_comp(elsewhere);
	mlx5dv_devx_destroy_cmd_comp(answers);
	ANSWERS(0, mlx5dv_devx_obj_destroy(object));
}

/*
 * A handle for hints to DMA, from rdma-core 61 on. Its call fills a word that is reserved elsewhere: a kernel without the
 * method does not look at it.
 */
static void hints_to_dma(void)
{
	struct {
		uint32_t comp_mask, cpu_id;
		uint8_t ph, memory_type;
	} init = { .comp_mask = 7, .memory_type = 1 };
	void *(*alloc_dmah)(struct ibv_context *, void *) = dlsym(RTLD_DEFAULT, "ibv_alloc_dmah");

	if (alloc_dmah)
		REFUSED(EOPNOTSUPP, alloc_dmah(context, &init));
}

/* Never ENOTTY or EPROTONOSUPPORT, which stand for an old kernel. */
static void refused(void)
{
	struct {
		size_t size;
		uint64_t bytes[8];
	} mask = { .size = 64 };
	struct mlx5dv_flow_matcher_attr matcher = { .match_mask = (void *)&mask, .match_criteria_enable = 1 };

	REFUSED(EOPNOTSUPP, mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX));
	REFUSED(EOPNOTSUPP, mlx5dv_create_flow_matcher(context, &matcher));
}

static void removed(void)
{
	struct mlx5dv_devx_obj *object;
	uint32_t number;

	NEED(object = make(CREATE_TIS, &number));
	ask("{\"op\":\"remove\",\"device\":0}");
	LIVE("devx_obj", 0);
	REFUSED(EIO, make(CREATE_TIS, &number));
	ANSWERS(0, mlx5dv_devx_obj_destroy(object));
}

int main(void)
{
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	objects();
	keys();
	keys_of_other_kinds();
	of_a_queue_pair();
	events();
	in_background();
	hints_to_dma();
	refused();
	removed();
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
	printf("good\n");
	return 0;
}
