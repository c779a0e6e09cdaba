//! User access regions: doorbell pages. Here plain memory that nobody reads.

use std::os::fd::OwnedFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{Client, announce};
use crate::ioctl::{Call, DRIVER};
use crate::ufile::Kind;
use crate::wire::Answer;

/// MLX5_IB_METHOD_UAR_OBJ_ALLOC.
pub fn alloc(client: &Client, call: &Call<'_>) -> Answer<()> {
    let memory = page().map_err(|error| error as i32)?;
    let (handle, offset) = client.with_context(|_, ufile| {
        let offset = ufile.new_offset();
        Ok((ufile.add(Kind::Uar { offset, memory }), offset))
    })?;
    call.new_handle(DRIVER, handle)?;
    call.output(DRIVER + 2, &offset.to_ne_bytes());
    call.output(DRIVER + 3, &4096_u64.to_ne_bytes());
    call.output(DRIVER + 4, &(handle + 1).to_ne_bytes());
    announce(client, call, handle)
}

fn page() -> nix::Result<OwnedFd> {
    let memory = memfd_create(c"verbsguard-uar", MFdFlags::MFD_CLOEXEC)?;
    nix::unistd::ftruncate(&memory, 4096)?;
    Ok(memory)
}

/// MLX5_IB_METHOD_UAR_OBJ_DESTROY.
pub fn destroy(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(DRIVER)?;
    client.with_handles(|_, ufile| ufile.destroy(handle, |object| matches!(object, Kind::Uar { .. })).map(|_| ()))
}
