/* The ioctl itself, well and badly formed: what libibverbs never sends, a program that does not use it may. */
#define _GNU_SOURCE
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "verbs.h"

struct message {
	struct ib_uverbs_ioctl_hdr header;
	struct ib_uverbs_attr attrs[3];
};

/* A correct question for a PD's number. Two attributes; the third is for the spoilers. */
static struct message pd_query(uint32_t handle, uint32_t *pdn)
{
	return (struct message){
		.header = {
			.length = sizeof(struct ib_uverbs_ioctl_hdr) + 2 * sizeof(struct ib_uverbs_attr),
			.object_id = UVERBS_OBJECT_PD,
			.method_id = MLX5_IB_METHOD_PD_QUERY,
			.num_attrs = 2,
			.driver_id = RDMA_DRIVER_MLX5,
		},
		.attrs = {
			{ .attr_id = MLX5_IB_ATTR_QUERY_PD_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY, .data = handle },
			{ .attr_id = MLX5_IB_ATTR_QUERY_PD_RESP_PDN, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = sizeof(*pdn), .data = (uintptr_t)pdn },
		},
	};
}

static void add_attribute(struct message *message, struct ib_uverbs_attr attr)
{
	message->attrs[message->header.num_attrs++] = attr;
	message->header.length += sizeof(attr);
}

static void drop_attribute(struct message *message)
{
	message->header.num_attrs--;
	message->header.length -= sizeof(struct ib_uverbs_attr);
}

/* One mistake, by name; false where there is none of that name. */
static bool spoil(struct message *message, const char *how)
{
	struct ib_uverbs_attr unknown = { .attr_id = 0x1fff, .data = 0 };

	if (!strcmp(how, "length-odd"))
		message->header.length += 1;
	else if (!strcmp(how, "length-page"))
		message->header.length = 8192;
	else if (!strcmp(how, "count"))
		message->header.num_attrs += 1;
	else if (!strcmp(how, "reserved1"))
		message->header.reserved1 = 1;
	else if (!strcmp(how, "reserved2"))
		message->header.reserved2 = 1;
	else if (!strcmp(how, "driver"))
		message->header.driver_id = RDMA_DRIVER_MLX4;
	else if (!strcmp(how, "object"))
		message->header.object_id = 0x1fff;
	else if (!strcmp(how, "method"))
		message->header.method_id = 0x1fff;
	else if (!strcmp(how, "missing"))
		drop_attribute(message);
	else if (!strcmp(how, "duplicate"))
		add_attribute(message, message->attrs[0]);
	else if (!strcmp(how, "unknown-optional"))
		add_attribute(message, unknown);
	else if (!strcmp(how, "unknown-mandatory"))
		add_attribute(message, (unknown.flags = UVERBS_ATTR_F_MANDATORY, unknown));
	else if (!strcmp(how, "flags"))
		message->attrs[0].flags |= 0x8000;
	else if (!strcmp(how, "attr-reserved"))
		message->attrs[0].attr_data.reserved = 1;
	else if (!strcmp(how, "method-and-attr"))
		message->header.method_id = 0x1fff, message->attrs[0].attr_data.reserved = 1;
	else if (!strcmp(how, "handle-length"))
		message->attrs[0].len = 4;
	else if (!strcmp(how, "handle-wide"))
		message->attrs[0].data |= 1ULL << 32;
	else if (!strcmp(how, "answer-short"))
		message->attrs[1].len = 2;
	else if (!strcmp(how, "answer-long"))
		message->attrs[1].len = 8;
	else if (!strcmp(how, "answer-nowhere"))
		message->attrs[1].data = 8;
	else
		return false;
	return true;
}

/* raw_pd_query FD HANDLE [spoil=HOW] */
static void raw_pd_query(struct call *call)
{
	uint32_t pdn[2] = { 0 };
	struct message message = pd_query(call->request->args[1].value.handle, pdn);
	const char *how = text_option(call, "spoil");

	if (how && !spoil(&message, how))
		bad_call(call, "no such way to spoil it");
	answered(call, ioctl(descriptor(call, 0), RDMA_VERBS_IOCTL, &message) ? errno : 0);
}

static void raw_bad_pointer(struct call *call)
{
	answered(call, ioctl(descriptor(call, 0), RDMA_VERBS_IOCTL, (void *)8) ? errno : 0);
}

static void raw_other_ioctl(struct call *call)
{
	answered(call, ioctl(descriptor(call, 0), _IO(RDMA_IOCTL_MAGIC, 0x77)) ? errno : 0);
}

/* A context for a device file, as ibv_open_device asks for one. */
static void raw_get_context(struct call *call)
{
	uint32_t vectors, request[8] = { 0 }, answer[18];
	uint64_t support;
	struct {
		struct ib_uverbs_ioctl_hdr header;
		struct ib_uverbs_attr attrs[4];
	} message = {
		.header = { .length = sizeof(message), .object_id = UVERBS_OBJECT_DEVICE,
			    .method_id = UVERBS_METHOD_GET_CONTEXT, .num_attrs = 4, .driver_id = RDMA_DRIVER_MLX5 },
		.attrs = {
			{ .attr_id = UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, .len = 4, .data = (uintptr_t)&vectors },
			{ .attr_id = UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, .len = 8, .data = (uintptr_t)&support },
			{ .attr_id = UVERBS_ATTR_UHW_IN, .len = sizeof(request), .data = (uintptr_t)request },
			{ .attr_id = UVERBS_ATTR_UHW_OUT, .len = sizeof(answer), .data = (uintptr_t)answer },
		},
	};

	answered(call, ioctl(descriptor(call, 0), RDMA_VERBS_IOCTL, &message) ? errno : 0);
}

/* What every context asks for first, and here an object that needs nothing but a context. */
static void raw_alloc_uar(struct call *call)
{
	uint64_t offset;
	uint32_t length, page;
	struct {
		struct ib_uverbs_ioctl_hdr header;
		struct ib_uverbs_attr attrs[5];
	} message = {
		.header = { .length = sizeof(message), .object_id = MLX5_IB_OBJECT_UAR,
			    .method_id = MLX5_IB_METHOD_UAR_OBJ_ALLOC, .num_attrs = 5, .driver_id = RDMA_DRIVER_MLX5 },
		.attrs = {
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE },
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, .len = 8, .data = 1 },
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, .len = 8, .data = (uintptr_t)&offset },
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, .len = 4, .data = (uintptr_t)&length },
			{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, .len = 4, .data = (uintptr_t)&page },
		},
	};

	answered(call, ioctl(descriptor(call, 0), RDMA_VERBS_IOCTL, &message) ? errno : 0);
}

/* The old way of commands, by write(): the kernel takes it from the opener alone. */
static void raw_write(struct call *call)
{
	struct {
		struct ib_uverbs_cmd_hdr header;
		struct ib_uverbs_dealloc_pd body;
	} command = {
		.header = { .command = IB_USER_VERBS_CMD_DEALLOC_PD, .in_words = sizeof(command) / 4 },
		.body = { .pd_handle = option(call, "handle", 99) },
	};

	answered(call, write(descriptor(call, 0), &command, sizeof(command)) < 0 ? errno : 0);
}

const struct verb raw_verbs[] = {
	{ "raw_pd_query", raw_pd_query },
	{ "raw_bad_pointer", raw_bad_pointer },
	{ "raw_other_ioctl", raw_other_ioctl },
	{ "raw_get_context", raw_get_context },
	{ "raw_alloc_uar", raw_alloc_uar },
	{ "raw_write", raw_write },
	{ NULL, NULL },
};
