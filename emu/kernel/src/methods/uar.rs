//! User access regions: doorbell pages. Here plain memory that nobody reads.

use std::os::fd::OwnedFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{Client, announce};
use crate::ioctl::{Call, DRIVER};
use crate::object::{More, Object, Type};
use crate::wire::Answer;

/// MLX5_IB_METHOD_UAR_OBJ_ALLOC.
pub fn alloc(client: &Client, call: &Call<'_>) -> Answer<()> {
    let memory = page().map_err(|error| error as i32)?;
    let (handle, offset) = client.with_context(|_, ufile| {
        let offset = ufile.new_offset();
        let uar = Object::new(Type::Uar).with(More::Mapped { offset, memory, length: 4096 });
        Ok((ufile.add(uar), offset))
    })?;
    call.new_handle(DRIVER, handle)?;
    call.output(DRIVER + 2, &offset.to_ne_bytes());
    call.output(DRIVER + 3, &4096_u64.to_ne_bytes());
    call.output(DRIVER + 4, &(handle + 1).to_ne_bytes());
    announce(client, call, handle, Type::Uar)
}

fn page() -> nix::Result<OwnedFd> {
    let memory = memfd_create(c"verbsguard-uar", MFdFlags::MFD_CLOEXEC)?;
    nix::unistd::ftruncate(&memory, 4096)?;
    Ok(memory)
}
