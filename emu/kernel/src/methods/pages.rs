//! What a program maps: doorbell pages (UAR), emulation doorbells (VAR) and device memory (DM). Here plain memory, which
//! no device reads.

use std::os::fd::OwnedFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{Client, announce, number32, optional32};
use crate::ioctl::{Call, DRIVER};
use crate::object::{DEVICE_MEMORY, DEVICE_PIECE, More, Object, PAGE, Space, Type};
use crate::wire::Answer;

fn memory(length: u64) -> Answer<OwnedFd> {
    let number = |error| error as i32;
    let memory = memfd_create(c"verbsguard-device", MFdFlags::MFD_CLOEXEC).map_err(number)?;
    nix::unistd::ftruncate(&memory, length.next_multiple_of(PAGE).cast_signed()).map_err(number)?;
    Ok(memory)
}

/// MLX5_IB_METHOD_UAR_OBJ_ALLOC, MLX5_IB_METHOD_VAR_OBJ_ALLOC: handle, then where, how long and which page, in this
/// order, from attribute `first` on.
fn alloc_page(client: &Client, call: &Call<'_>, what: Type, first: u16) -> Answer<()> {
    let memory = memory(PAGE)?;
    let (handle, offset, page) = client.with_context(|device, ufile| {
        let page = device.new_number(Space::Page)?;
        let offset = ufile.new_offset();
        let mapped = More::Mapped { offset, memory, length: PAGE };
        Ok((ufile.add(Object::new(what).numbered(Space::Page, page).with(mapped)), offset, page))
    })?;
    call.new_handle(DRIVER, handle)?;
    call.output(first, &offset.to_ne_bytes());
    call.output(first + 1, &PAGE.to_ne_bytes());
    call.output(first + 2, &page.to_ne_bytes());
    announce(client, call, handle, what)
}

/// MLX5_IB_METHOD_UAR_OBJ_ALLOC.
pub fn alloc_uar(client: &Client, call: &Call<'_>) -> Answer<()> {
    // Blue flame or not cached.
    if call.number(DRIVER + 1)? > 1 {
        return Err(libc::EOPNOTSUPP);
    }
    alloc_page(client, call, Type::Uar, DRIVER + 2)
}

/// MLX5_IB_METHOD_VAR_OBJ_ALLOC.
pub fn alloc_var(client: &Client, call: &Call<'_>) -> Answer<()> {
    if optional32(call, DRIVER + 4)? != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    alloc_page(client, call, Type::Var, DRIVER + 1)
}

/// MLX5_IB_UAPI_DM_TYPE_MEMIC; the other types are for steering.
const MEMIC: u64 = 0;
/// MLX5_IB_MMAP_DEVICE_MEM.
const MAP_COMMAND: u64 = 8;

/// Where libmlx5 maps the device memory with this index.
fn offset_of(index: u16) -> u64 {
    let index = u64::from(index);
    (MAP_COMMAND << 8 | index & 0xff | index >> 8 << 16) * PAGE
}

/// UVERBS_METHOD_DM_ALLOC.
pub fn alloc_dm(client: &Client, call: &Call<'_>) -> Answer<()> {
    let (length, log_align) = (call.number(1)?, number32(call, 2)?);
    let kind = if call.has(DRIVER + 2) { call.number(DRIVER + 2)? } else { MEMIC };
    if kind != MEMIC {
        return Err(libc::EOPNOTSUPP);
    }
    if length == 0 || length > DEVICE_MEMORY || 1_u64.checked_shl(log_align).is_none_or(|align| align > PAGE) {
        return Err(libc::EINVAL);
    }
    let memory = memory(length)?;
    let (handle, index) = client.with_context(|device, ufile| {
        let index = (0..=u16::MAX).find(|index| ufile.memory(offset_of(*index)).is_none()).ok_or(libc::ENOMEM)?;
        device.take_memory(length.next_multiple_of(DEVICE_PIECE))?;
        let mapped = More::Mapped { offset: offset_of(index), memory, length };
        Ok((ufile.add(Object::new(Type::Dm).with(mapped)), index))
    })?;
    call.new_handle(0, handle)?;
    call.output(DRIVER, &0_u64.to_ne_bytes());
    call.output(DRIVER + 1, &index.to_ne_bytes());
    announce(client, call, handle, Type::Dm)
}

/// MLX5_IB_METHOD_DM_QUERY: what import_dm asks.
pub fn query_dm(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(DRIVER)?;
    let (at, size) = client.with_handles(|_, ufile| match ufile.find(handle, Type::Dm)?.more {
        More::Mapped { offset, length, .. } => Ok((offset, length)),
        _ => Err(libc::EINVAL),
    })?;
    let index = (0..=u16::MAX).find(|index| offset_of(*index) == at).ok_or(libc::EINVAL)?;
    call.output(DRIVER + 1, &0_u64.to_ne_bytes());
    call.output(DRIVER + 2, &index.to_ne_bytes());
    call.output(DRIVER + 3, &size.to_ne_bytes());
    call.flush()
}

/// UVERBS_METHOD_DMABUF_ALLOC: a descriptor for what is mapped at an offset.
pub fn export(client: &Client, call: &Call<'_>) -> Answer<()> {
    let offset = call.number(1)?;
    let fd = client.with_context(|_, ufile| {
        let (memory, _) = ufile.memory(offset).ok_or(libc::EINVAL)?;
        memory.try_clone().map_err(|_| libc::EMFILE)
    })?;
    call.new_fd(0, fd)
}

/// MLX5_IB_METHOD_PP_OBJ_ALLOC: an entry of the table of packet rates: handle, the rate, flags, the entry's index.
pub fn alloc_rate(client: &Client, call: &Call<'_>) -> Answer<()> {
    const DEDICATED: u64 = 1;
    if call.number(DRIVER + 2)? & !DEDICATED != 0 {
        return Err(libc::EINVAL);
    }
    call.input(DRIVER + 1)?;
    let (handle, index) = client.with_context(|device, ufile| {
        let index = device.new_number(Space::Rate)?;
        Ok((ufile.add(Object::new(Type::Pp).numbered(Space::Rate, index)), index))
    })?;
    call.new_handle(DRIVER, handle)?;
    call.output(DRIVER + 3, &index.to_ne_bytes());
    announce(client, call, handle, Type::Pp)
}
