//! Completion queues. Their memory is the program's; nothing is ever written there.

use super::context::COMP_VECTORS;
use super::{CORE_IN, CORE_OUT, Client, UHW_IN, UHW_OUT, announce, check_channel, needs_room, number32, optional32};
use super::{pin, words};
use crate::channel::Events;
use crate::ioctl::{Call, u32_at, u64_at};
use crate::object::{Object, Space, Type};
use crate::wire::Answer;

/// How many entries a queue can have.
pub const ENTRIES_MAX: u32 = 1 << 22;
/// UVERBS_ATTR_CREATE_CQ_FLAGS: time stamps, overrun ignored.
const FLAGS: u32 = 3;
/// MLX5_IB_CREATE_CQ_FLAGS_…
const PADDED: u32 = 1;
const UAR_PAGE_INDEX: u32 = 2;
const REAL_TIME: u32 = 4;
/// What a doorbell record takes.
const RECORD: u64 = 8;

/// UVERBS_METHOD_CQ_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    check_channel(client, call, 3, Events::Completion)?;
    check_channel(client, call, 7, Events::Asynchronous)?;
    let (entries, vector, _name) = (number32(call, 1)?, number32(call, 4)?, call.number(2)?);
    let driver = call.optional_input(UHW_IN)?;
    let entries = checked_size(entries)?;
    if optional32(call, 5)? & !FLAGS != 0 || vector >= COMP_VECTORS {
        return Err(libc::EINVAL);
    }
    let pinned = pin_queue(client, call, entries, &driver)?;
    let (handle, number) = client.with_context(|device, ufile| {
        let number = device.new_number(Space::Cq)?;
        Ok((ufile.add(Object::new(Type::Cq).numbered(Space::Cq, number).pinning(pinned)), number))
    })?;
    call.new_handle(0, handle)?;
    call.output(6, &(entries - 1).to_ne_bytes());
    call.output(UHW_OUT, &words(&[number, 0]));
    announce(client, call, handle, Type::Cq)
}

/// The entries that a queue gets, of which one is not for use.
fn checked_size(wanted: u32) -> Answer<u32> {
    if wanted >= ENTRIES_MAX {
        return Err(libc::EINVAL);
    }
    Ok((wanted + 1).next_power_of_two())
}

/// struct mlx5_ib_create_cq: buf_addr, db_addr, cqe_size, cqe_comp_en, cqe_comp_res_format, flags, uar_page_index.
fn pin_queue(client: &Client, call: &Call<'_>, entries: u32, driver: &[u8]) -> Answer<u64> {
    let (buffer, record, size) = (u64_at(driver, 0), u64_at(driver, 8), u32_at(driver, 16));
    let (compressed, flags) = (u32_at(driver, 20) & 0xff, u32_at(driver, 20) >> 16);
    let reserved = u32_at(driver, 24) >> 16 | u32_at(driver, 28);
    let is_known = flags & !(PADDED | UAR_PAGE_INDEX | REAL_TIME) == 0 && reserved == 0;
    if !is_known || ![64, 128].contains(&size) || flags & UAR_PAGE_INDEX == 0 {
        return Err(libc::EINVAL);
    }
    // This device has neither time nor compressed or padded entries.
    if compressed != 0 || flags & (PADDED | REAL_TIME) != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let queue = pin(client, call, buffer, u64::from(entries) * u64::from(size), true)?;
    pin(client, call, record, RECORD, true)?;
    Ok(queue)
}

/// IB_USER_VERBS_CMD_RESIZE_CQ: response, cq_handle, cqe. The device would have to mark the place in the old memory, so
/// it does not offer this; the errno is the one of a device without.
pub fn resize(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 8)?;
    let handle = u32_at(&call.input(CORE_IN)?, 8);
    client.with_handles(|_, ufile| ufile.find(handle, Type::Cq).map(drop))?;
    Err(libc::ENOSYS)
}

/// IB_USER_VERBS_EX_CMD_MODIFY_CQ: cq_handle, attr_mask, attr. There are no completions that could be moderated.
pub fn modify(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = u32_at(&call.input(CORE_IN)?, 0);
    client.with_handles(|_, ufile| ufile.find(handle, Type::Cq).map(drop))?;
    Err(libc::EOPNOTSUPP)
}
