//! Work queues that only receive, and tables of them.

use super::{CORE_IN, CORE_OUT, Client, UHW_IN, UHW_OUT, announce, check_channel, needs_room, number32, pin, words};
use super::{known_size, qp};
use crate::channel::Events;
use crate::ioctl::{Call, u32_at, u64_at};
use crate::object::{More, Object, Space, Type};
use crate::wire::Answer;

/// ib_uverbs_wq_type: RQ.
const RECEIVING: u32 = 0;
/// ib_wq_state.
const RESET: u32 = 0;
const READY: u32 = 1;
const ERROR: u32 = 2;
/// The largest table, as a power of two.
pub const TABLE_MAX: u32 = 11;

/// UVERBS_METHOD_WQ_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    let uses = [(call.handle(1)?, Type::Pd), (call.handle(2)?, Type::Cq)];
    client.with_context(|_, ufile| ufile.find_all(&uses))?;
    check_channel(client, call, 5, Events::Asynchronous)?;
    let [kind, max_wr, max_sge, flags] = [4, 6, 7, 8].map(|id| number32(call, id));
    let (kind, max_wr, max_sge, flags) = (kind?, max_wr?, max_sge?, flags?);
    let _name = call.number(3)?;
    if kind != RECEIVING {
        return Err(libc::EINVAL);
    }
    if flags != 0 {
        // No VLAN tags, no checksums, no delay.
        return Err(libc::EOPNOTSUPP);
    }
    let pinned = pin_queue(client, call)?;
    let (handle, number) = client.with_context(|device, ufile| {
        ufile.find_all(&uses)?;
        let number = device.new_number(Space::Qp)?;
        let wq = Object::new(Type::Wq).numbered(Space::Qp, number).using(&uses).pinning(pinned);
        Ok((ufile.add(wq.with(More::Receiving { state: RESET })), number))
    })?;
    call.new_handle(0, handle)?;
    call.output(9, &max_wr.to_ne_bytes());
    call.output(10, &max_sge.to_ne_bytes());
    call.output(11, &number.to_ne_bytes());
    call.output(UHW_OUT, &words(&[8, 0]));
    announce(client, call, handle, Type::Wq)
}

/// struct mlx5_ib_create_wq: buf_addr, db_addr, rq_wqe_count, rq_wqe_shift, user_index, flags, comp_mask.
fn pin_queue(client: &Client, call: &Call<'_>) -> Answer<u64> {
    let driver = call.input(UHW_IN)?;
    let [count, shift, mask] = [16, 20, 32].map(|at| u32_at(&driver, at));
    if mask != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    if count == 0 || count > qp::REQUESTS_MAX || shift > 31 {
        return Err(libc::EINVAL);
    }
    let pinned = pin(client, call, u64_at(&driver, 0), u64::from(count) << shift, false)?;
    pin(client, call, u64_at(&driver, 8), 8, true)?;
    Ok(pinned)
}

/// IB_USER_VERBS_EX_CMD_MODIFY_WQ: attr_mask, wq_handle, wq_state, curr_wq_state, flags, flags_mask.
pub fn modify(client: &Client, call: &Call<'_>) -> Answer<()> {
    const STATE: u32 = 1;
    const CURRENT: u32 = 2;
    const FLAGS: u32 = 4;
    let input = call.input(CORE_IN)?;
    let [mask, handle, wanted, current] = [0, 4, 8, 12].map(|at| u32_at(&input, at));
    if mask == 0 || mask & !(STATE | CURRENT | FLAGS) != 0 {
        return Err(libc::EINVAL);
    }
    client.with_handles(|_, ufile| {
        let More::Receiving { state } = ufile.change(handle, Type::Wq)? else { return Err(libc::EINVAL) };
        if mask & FLAGS != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let from = if mask & CURRENT != 0 { current } else { *state };
        let to = if mask & STATE != 0 { wanted } else { from };
        let is_change =
            matches!((from, to), (RESET, RESET | READY) | (READY, READY | ERROR | RESET) | (ERROR, ERROR | RESET));
        if from != *state || !is_change {
            return Err(libc::EINVAL);
        }
        *state = to;
        Ok(())
    })
}

/// IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL: comp_mask, log_ind_tbl_size, the work queues' handles.
pub fn create_table(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 16)?;
    let input = call.input(CORE_IN)?;
    let (mask, log_size) = (u32_at(&input, 0), u32_at(&input, 4));
    known_size(&call.optional_input(UHW_IN)?, 0)?;
    if mask != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    if log_size > TABLE_MAX || input.len() < 8 + (4 << log_size) {
        return Err(libc::EINVAL);
    }
    let queues: Vec<_> = (0..1 << log_size).map(|index| (u32_at(&input, 8 + 4 * index), Type::Wq)).collect();
    let (handle, number) = client.with_context(|device, ufile| {
        ufile.find_all(&queues)?;
        let number = device.new_number(Space::Table)?;
        Ok((ufile.add(Object::new(Type::Table).numbered(Space::Table, number).using(&queues)), number))
    })?;
    call.output(CORE_OUT, &words(&[0, 16, handle, number]));
    call.output(UHW_OUT, &words(&[8, 0]));
    announce(client, call, handle, Type::Table)
}
