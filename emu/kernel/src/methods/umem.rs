//! DEVX user memory.

use super::{Client, announce, is_countable, pin};
use crate::ioctl::{Call, DRIVER};
use crate::object::{Object, Space, Type};
use crate::wire::Answer;

const HANDLE: u16 = DRIVER;
const ADDR: u16 = DRIVER + 1;
const LEN: u16 = DRIVER + 2;
const ACCESS: u16 = DRIVER + 3;
const OUT_ID: u16 = DRIVER + 4;
const PGSZ_BITMAP: u16 = DRIVER + 5;
const DMABUF_FD: u16 = DRIVER + 6;

const LOCAL_WRITE: u64 = 1;
const REMOTE_WRITE: u64 = 2;
const REMOTE_READ: u64 = 4;
const PAGE: u64 = 4096;

/// MLX5_IB_METHOD_DEVX_UMEM_REG.
pub fn register(client: &Client, call: &Call<'_>) -> Answer<()> {
    let has_devx = client.with_context(|_, ufile| Ok(ufile.context == Some(true)))?;
    let (addr, len, access) = (call.number(ADDR)?, call.number(LEN)?, call.number(ACCESS)?);
    let writes_unasked = access & REMOTE_WRITE != 0 && access & LOCAL_WRITE == 0;
    if !has_devx || access & !(LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ) != 0 || writes_unasked || len == 0 {
        return Err(libc::EINVAL);
    }
    let bitmap = if call.has(PGSZ_BITMAP) { call.number(PGSZ_BITMAP)? } else { !(PAGE - 1) };
    let pinned = if call.has(DMABUF_FD) {
        check_dmabuf(call, DMABUF_FD, addr, len)?;
        0
    } else {
        if !is_countable(len) || addr.checked_add(len).is_none_or(|end| end.checked_add(PAGE).is_none()) {
            return Err(libc::EINVAL);
        }
        pin(client, call, addr, len, access & LOCAL_WRITE != 0)?
    };
    if bitmap & usable_page_sizes(len) == 0 {
        return Err(libc::EINVAL);
    }
    let (handle, id) = client.with_context(|device, ufile| {
        let id = device.new_number(Space::Umem)?;
        Ok((ufile.add(Object::new(Type::Umem).numbered(Space::Umem, id).pinning(pinned)), id))
    })?;
    call.new_handle(HANDLE, handle)?;
    call.output(OUT_ID, &id.to_ne_bytes());
    announce(client, call, handle, Type::Umem)
}

/// From 4 KiB to the larger of a page and the size rounded up to a power of two.
fn usable_page_sizes(len: u64) -> u64 {
    let largest = len.checked_next_power_of_two().unwrap_or(1 << 63).max(PAGE);
    ((largest - 1) | largest) & !(PAGE - 1)
}

/// A descriptor that stands for a dmabuf: any memory file. The range must lie in it.
pub fn check_dmabuf(call: &Call<'_>, id: u16, offset: u64, len: u64) -> Answer<()> {
    let fd = call.fd(id)?;
    let found = nix::sys::stat::fstat(&fd).map_err(|_| libc::EBADF)?;
    let size = u64::try_from(found.st_size).unwrap_or(0);
    let is_memory = found.st_mode & libc::S_IFMT == libc::S_IFREG;
    if !is_memory || offset.checked_add(len).is_none_or(|end| end > size) {
        return Err(libc::EINVAL);
    }
    Ok(())
}
