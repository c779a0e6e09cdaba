//! Counters, which flows count into: nothing flows, so all are zero.

use super::{Client, announce, optional32};
use crate::ioctl::Call;
use crate::object::{Object, Type};
use crate::wire::Answer;

/// UVERBS_METHOD_COUNTERS_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = client.with_context(|_, ufile| Ok(ufile.add(Object::new(Type::Counters))))?;
    call.new_handle(0, handle)?;
    announce(client, call, handle, Type::Counters)
}

/// UVERBS_METHOD_COUNTERS_READ: only what a flow counts into can be read.
pub fn read(client: &Client, call: &Call<'_>) -> Answer<()> {
    const CACHED: u32 = 1;
    let (handle, flags) = (call.handle(0)?, optional32(call, 2)?);
    client.with_handles(|_, ufile| match ufile.find(handle, Type::Counters)?.users {
        0 => Err(libc::EINVAL),
        _ => Ok(()),
    })?;
    if flags & !CACHED != 0 || call.room(1) < 8 {
        return Err(libc::EINVAL);
    }
    call.output(1, &[]);
    call.flush()
}
