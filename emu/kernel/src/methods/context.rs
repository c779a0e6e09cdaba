//! Contexts and queries of device and port.

use super::{CORE_OUT, Client, UHW_IN, UHW_OUT, known_size, needs_room, wq};
use crate::channel::Events;
use crate::ioctl::{Call, DRIVER, u32_at};
use crate::object::DEVICE_MEMORY;
use crate::wire::Answer;

/// Completion vectors.
pub const COMP_VECTORS: u32 = 4;
/// IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS.
const CORE_SUPPORT: u64 = 1;
/// MLX5_IB_ALLOC_UCTX_DEVX.
const DEVX: u32 = 1;

/// MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY, and the key: of a region that swallows what is written. It is below
/// all keys that are given out.
const DUMP_FILL: u32 = 2;
const DUMP_FILL_KEY: u32 = 0x400;
/// IB_UVERBS_DEVICE_…: an active port is told of, GUIDs, receivers can be not ready, memory windows (also of type 2B),
/// extended reliable connections, steering.
const CAPABILITIES: u32 = 1 << 10 | 1 << 11 | 1 << 12 | 1 << 17 | 1 << 20 | 1 << 24 | 1 << 29;

/// A struct being filled field by field.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u8s(mut self, values: &[u8]) -> Self {
        self.0.extend_from_slice(values);
        self
    }

    fn u16s(mut self, values: &[u16]) -> Self {
        self.0.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
        self
    }

    fn u32s(mut self, values: &[u32]) -> Self {
        self.0.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
        self
    }

    fn u64s(mut self, values: &[u64]) -> Self {
        self.0.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
        self
    }
}

/// struct mlx5_ib_alloc_ucontext_resp (mlx5-abi.h). No static doorbell registers: they are made one by one (UAR).
fn mlx5_context() -> Vec<u8> {
    Fields::default()
        // qp_tab_size, bf_reg_size, tot_bfregs, cache_line_size
        .u32s(&[1 << 18, 512, 0, 64])
        // max_sq_desc_sz, max_rq_desc_sz
        .u16s(&[1024, 512])
        // max_send_wqebb, max_recv_wr, max_srq_recv_wr
        .u32s(&[32_768, 32_768, 32_767])
        // num_ports, flow_action_flags
        .u16s(&[1, 0])
        // comp_mask, response_length
        .u32s(&[DUMP_FILL, 72])
        // cqe_version, cmds_supp_uhw, eth_min_inline, clock_info_versions
        .u8s(&[1, 3, 2, 0])
        // hca_core_clock_offset
        .u64s(&[0])
        // log_uar_size, num_uars_per_page, num_dyn_bfregs, dump_fill_mkey
        .u32s(&[12, 1, 0, DUMP_FILL_KEY])
        .0
}

/// UVERBS_METHOD_GET_CONTEXT: once in the life of a device file.
pub fn get(client: &Client, call: &Call<'_>) -> Answer<()> {
    let request = call.optional_input(UHW_IN)?;
    known_size(&request, 32)?;
    let devx = u32_at(&request, 8) & DEVX != 0;
    client.with(|_, ufile| match ufile.context {
        Some(_) => Err(libc::EINVAL),
        None => {
            ufile.context = Some(devx);
            Ok(())
        }
    })?;
    call.output(0, &COMP_VECTORS.to_ne_bytes());
    call.output(1, &CORE_SUPPORT.to_ne_bytes());
    call.output(UHW_OUT, &mlx5_context());
    call.flush()
}

/// UVERBS_METHOD_QUERY_CONTEXT: what importing a device asks.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    client.with_context(|_, _| Ok(()))?;
    call.output(0, &COMP_VECTORS.to_ne_bytes());
    call.output(1, &CORE_SUPPORT.to_ne_bytes());
    call.output(DRIVER, &mlx5_context());
    call.flush()
}

/// UVERBS_METHOD_ASYNC_EVENT_ALLOC.
pub fn async_fd(client: &Client, call: &Call<'_>) -> Answer<()> {
    let fd = client.with_context(|_, ufile| ufile.channels.open(Events::Asynchronous))?;
    call.new_fd(0, fd)
}

/// IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL.
pub fn completion_channel(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 4)?;
    let fd = client.with_context(|_, ufile| ufile.channels.open(Events::Completion))?;
    call.output_fd(CORE_OUT, fd)
}

/// struct ib_uverbs_query_device_resp (ib_user_verbs.h).
fn device() -> Vec<u8> {
    let guid = 0x0012_4bff_fe00_0001_u64.to_be();
    Fields::default()
        // fw_ver, node_guid, sys_image_guid, max_mr_size, page_size_cap
        .u64s(&[16_u64 << 32 | 35 << 16 | 3006, guid, guid, u64::MAX, 0xffff_ffff_ffff_f000])
        // vendor_id, vendor_part_id, hw_ver, max_qp, max_qp_wr, device_cap_flags
        .u32s(&[0x02c9, 4119, 0, 1 << 18, 32_768, CAPABILITIES])
        // max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd
        .u32s(&[30, 30, 1 << 24, 4_194_303, 1 << 24, 1 << 24])
        // max_qp_rd_atom … max_ee_init_rd_atom, atomic_cap (within the device)
        .u32s(&[16, 0, 1 << 22, 16, 0, 1])
        // max_ee, max_rdd, max_mw, max_raw_ipv6_qp, max_raw_ethy_qp
        .u32s(&[0, 0, 1 << 24, 0, 0])
        // max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr
        .u32s(&[1 << 21, 240, 240 << 21, 1 << 24, 0, 0])
        // max_srq, max_srq_wr, max_srq_sge
        .u32s(&[1 << 23, 32_767, 31])
        // max_pkeys
        .u16s(&[128])
        // local_ca_ack_delay, phys_port_cnt, reserved
        .u8s(&[16, 1, 0, 0, 0, 0])
        .0
}

/// IB_USER_VERBS_CMD_QUERY_DEVICE. Without room for an answer it is libibverbs asking whether this way exists.
pub fn query_device(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, device().len())?;
    client.with_context(|_, _| Ok(()))?;
    call.output(CORE_OUT, &device());
    call.flush()
}

/// The tail of struct ib_uverbs_ex_query_device_resp.
fn extended() -> Vec<u8> {
    Fields::default()
        // odp_caps, timestamp_mask, hca_core_clock, device_cap_flags_ex
        .u64s(&[0, 0, 0, 0, 0, u64::from(CAPABILITIES)])
        // rss_caps: raw packets only, tables, their size
        .u32s(&[1 << 8, 1 << 16, 1 << wq::TABLE_MAX, 0])
        // max_wq_type_rq, raw_packet_caps
        .u32s(&[1 << 18, 0])
        // tm_caps, cq_moderation_caps, max_dm_size, xrc_odp_caps
        .u64s(&[0, 0, 0, 0, DEVICE_MEMORY, 0])
        .0
}

/// struct mlx5_ib_query_device_resp, of which only packets' hashes are there.
fn mlx5_device(room: u32) -> Vec<u8> {
    const FIELDS: u64 = 0xff;
    const TOEPLITZ: u8 = 1;
    Fields::default().u32s(&[0, room, 0, 0]).u64s(&[FIELDS]).u8s(&[TOEPLITZ]).0
}

/// IB_USER_VERBS_EX_CMD_QUERY_DEVICE: the same, with a tail.
pub fn query_device_ex(client: &Client, call: &Call<'_>) -> Answer<()> {
    let room = call.room(CORE_OUT);
    needs_room(call, CORE_OUT, device().len() + 8)?;
    client.with_context(|_, _| Ok(()))?;
    let length = u32::try_from(room.min(device().len() + 8 + extended().len())).map_err(|_| libc::EINVAL)?;
    call.output(CORE_OUT, &[Fields(device()).u32s(&[0, length]).0, extended()].concat());
    let driver = u32::try_from(call.room(UHW_OUT)).map_err(|_| libc::EINVAL)?;
    call.output(UHW_OUT, &mlx5_device(driver));
    call.flush()
}

/// struct ib_uverbs_query_port_resp_ex (ib_user_ioctl_verbs.h): a port that is up.
pub fn query_port(client: &Client, call: &Call<'_>) -> Answer<()> {
    let is_ethernet = client.with_context(|device, _| Ok(device.is_ethernet))?;
    if call.number(0)? != 1 {
        return Err(libc::EINVAL);
    }
    let reply = Fields::default()
        // port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr, gid_tbl_len
        .u32s(&[0x0251_0868, 1 << 30, 0, 0, 1])
        // pkey_tbl_len, lid, sm_lid: Ethernet has no LIDs
        .u16s(&if is_ethernet { [1, 0, 0] } else { [1, 1, 1] })
        // state, max_mtu, active_mtu, lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply
        .u8s(&[4, 5, 5, 0, 4, 0, 18, 0])
        // active_width, active_speed, phys_state, link_layer, flags (a global header is needed), reserved
        .u8s(&if is_ethernet { [2, 32, 5, 2, 1, 0] } else { [2, 32, 5, 1, 0, 0] });
    call.output(1, &reply.0);
    call.flush()
}

/// struct ib_uverbs_gid_entry: the port's one GID, of InfiniBand or RoCE v2.
fn gid(is_ethernet: bool) -> Vec<u8> {
    Fields::default()
        .u64s(&[0xfe80_0000_0000_0000_u64.to_be(), 0x0012_4bff_fe00_0001_u64.to_be()])
        // gid_index, port_num, gid_type, netdev_ifindex
        .u32s(&[0, 1, if is_ethernet { 2 } else { 0 }, 0])
        .0
}

/// UVERBS_METHOD_QUERY_GID_TABLE.
pub fn gid_table(client: &Client, call: &Call<'_>) -> Answer<()> {
    let gid = gid(client.with_context(|device, _| Ok(device.is_ethernet))?);
    if call.room(2) < gid.len() {
        return Err(libc::EINVAL);
    }
    call.output(2, &gid);
    call.output(3, &1_u64.to_ne_bytes());
    call.flush()
}

/// UVERBS_METHOD_QUERY_GID_ENTRY.
pub fn gid_entry(client: &Client, call: &Call<'_>) -> Answer<()> {
    let gid = gid(client.with_context(|device, _| Ok(device.is_ethernet))?);
    if call.number(0)? != 1 {
        return Err(libc::EINVAL);
    }
    if call.number(1)? != 0 {
        return Err(libc::ENODATA);
    }
    call.output(3, &gid);
    call.flush()
}
