// SPDX-License-Identifier: MIT OR GPL-2.0
/* The device itself: one InfiniBand port, no parent device, bound to libmlx5 by its driver id. */
#include <linux/module.h>

#include "standin.h"

#define GUID 0x0200000000000001ULL

static struct ib_device *device;

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct mlx5_ib_query_device_resp answer = { .response_length = 8 };

	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = 0x15b3;
	attr->vendor_part_id = 0x1017;
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = PAGE_MASK;
	attr->max_qp = attr->max_cq = attr->max_mr = attr->max_pd = attr->max_mw = attr->max_srq = 1 << 16;
	attr->max_qp_wr = attr->max_cqe = attr->max_srq_wr = 1 << 15;
	attr->max_send_sge = attr->max_recv_sge = attr->max_srq_sge = 16;
	attr->max_pkeys = 1;
	/* The core asks without udata when it registers the device. */
	if (!udata || !udata->outlen)
		return 0;
	return standin_answer(udata, &answer, answer.response_length);
}

static int query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1U << 30;
	attr->lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *fixed)
{
	fixed->gid_tbl_len = 1;
	fixed->pkey_tbl_len = 1;
	fixed->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	return 0;
}

static int query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	if (index)
		return -EINVAL;
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	gid->global.interface_id = ibdev->node_guid;
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = 0xffff;
	return 0;
}

static void get_dev_fw_str(struct ib_device *ibdev, char *text)
{
	strscpy(text, "0.0.0", IB_FW_VERSION_NAME_MAX);
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
	.query_device = query_device,
	.query_port = query_port,
	.get_port_immutable = get_port_immutable,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.get_dev_fw_str = get_dev_fw_str,
};

static const struct uapi_definition definitions[] = {
	UAPI_DEF_CHAIN(standin_context_defs),
	UAPI_DEF_CHAIN(standin_memory_defs),
	{},
};

struct standin_device {
	struct ib_device ib;
};

int standin_plug(void)
{
	struct standin_device *fresh = ib_alloc_device(standin_device, ib);
	int err;

	if (!fresh)
		return -ENOMEM;
	device = &fresh->ib;
	device->node_type = RDMA_NODE_IB_CA;
	device->node_guid = cpu_to_be64(GUID);
	device->phys_port_cnt = 1;
	device->num_comp_vectors = 1;
	device->driver_def = definitions;
	strscpy(device->node_desc, "verbsguard stand-in", sizeof(device->node_desc));
	ib_set_device_ops(device, &device_ops);
	ib_set_device_ops(device, &standin_context_ops);
	ib_set_device_ops(device, &standin_memory_ops);
	ib_set_device_ops(device, &standin_queue_ops);
	err = ib_register_device(device, "mlx5_%d", NULL);
	if (err)
		ib_dealloc_device(device);
	return err;
}

void standin_unplug(void)
{
	ib_unregister_device(device);
	ib_dealloc_device(device);
}

static int __init standin_init(void)
{
	int err = standin_plug();

	if (!err)
		standin_control_init();
	return err;
}

static void __exit standin_exit(void)
{
	standin_control_exit();
}

module_init(standin_init);
module_exit(standin_exit);

MODULE_DESCRIPTION("Stand-in for the mlx5 RDMA driver, without hardware, for verbsguard's tests");
MODULE_LICENSE("Dual MIT/GPL");
