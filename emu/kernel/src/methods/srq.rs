//! Shared receive queues.

use super::{CORE_IN, CORE_OUT, Client, UHW_IN, UHW_OUT, announce, check_channel, needs_room, number32, pin, words};
use crate::channel::Events;
use crate::ioctl::{Call, u32_at, u64_at};
use crate::object::{More, Object, Space, Type};
use crate::wire::Answer;

/// How many receive requests one has room for.
pub const REQUESTS_MAX: u32 = 1 << 15;
/// How many pieces a receive request can have.
pub const PIECES_MAX: u32 = 31;
/// ib_uverbs_srq_type. Tag matching needs hardware that does it.
const BASIC: u64 = 0;
const XRC: u64 = 1;
const TAG_MATCHING: u64 = 2;
/// The head of a receive request, and each piece.
const PIECE: u32 = 16;

/// UVERBS_METHOD_SRQ_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    let (pd, kind) = (call.handle(1)?, call.number(9)?);
    let mut uses = vec![(pd, Type::Pd)];
    if kind == XRC {
        uses.extend([(call.handle(2)?, Type::Xrcd), (call.handle(3)?, Type::Cq)]);
    }
    client.with_context(|_, ufile| ufile.find_all(&uses))?;
    check_channel(client, call, 10, Events::Asynchronous)?;
    let (max_wr, max_sge) = (number32(call, 5)?, number32(call, 6)?);
    // mlx5 does not look at the limit here, but it must be given.
    let (_limit, _name) = (number32(call, 7)?, call.number(4)?);
    match kind {
        BASIC | XRC => {}
        TAG_MATCHING => return Err(libc::EOPNOTSUPP),
        _ => return Err(libc::EINVAL),
    }
    if max_wr >= REQUESTS_MAX || max_sge > PIECES_MAX {
        return Err(libc::EINVAL);
    }
    let size = (max_wr + 1).next_power_of_two();
    let stride = ((max_sge + 1) * PIECE).next_power_of_two().max(2 * PIECE);
    let driver = call.optional_input(UHW_IN)?;
    let pinned = pin(client, call, u64_at(&driver, 0), u64::from(size) * u64::from(stride), false)?;
    pin(client, call, u64_at(&driver, 8), 8, true)?;
    let (handle, number) = client.with_context(|device, ufile| {
        ufile.find_all(&uses)?;
        let number = device.new_number(Space::Srq)?;
        let shared = More::Shared { max_wr: size - 1, max_sge, limit: 0, xrc: kind == XRC };
        let srq = Object::new(Type::Srq).numbered(Space::Srq, number).using(&uses).pinning(pinned).with(shared);
        Ok((ufile.add(srq), number))
    })?;
    call.new_handle(0, handle)?;
    call.output(11, &(size - 1).to_ne_bytes());
    call.output(12, &max_sge.to_ne_bytes());
    call.output(13, &number.to_ne_bytes());
    call.output(UHW_OUT, &words(&[number, 0]));
    announce(client, call, handle, Type::Srq)
}

/// IB_USER_VERBS_CMD_MODIFY_SRQ: srq_handle, attr_mask, max_wr, srq_limit.
pub fn modify(client: &Client, call: &Call<'_>) -> Answer<()> {
    const MAX_WR: u32 = 1;
    const LIMIT: u32 = 2;
    let input = call.input(CORE_IN)?;
    let [handle, mask, new_limit] = [0, 4, 12].map(|at| u32_at(&input, at));
    client.with_handles(|_, ufile| {
        let More::Shared { max_wr, limit, .. } = ufile.change(handle, Type::Srq)? else { return Err(libc::EINVAL) };
        // mlx5 has no resizing.
        if mask & MAX_WR != 0 || mask & LIMIT != 0 && new_limit > *max_wr {
            return Err(libc::EINVAL);
        }
        *limit = if mask & LIMIT != 0 { new_limit } else { *limit };
        Ok(())
    })
}

/// IB_USER_VERBS_CMD_QUERY_SRQ: response, srq_handle.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 16)?;
    let handle = u32_at(&call.input(CORE_IN)?, 8);
    let reply = client.with_handles(|_, ufile| match ufile.find(handle, Type::Srq)?.more {
        More::Shared { max_wr, max_sge, limit, .. } => Ok(words(&[max_wr, max_sge, limit, 0])),
        _ => Err(libc::EINVAL),
    })?;
    call.output(CORE_OUT, &reply);
    call.flush()
}
