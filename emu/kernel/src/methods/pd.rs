//! Protection domains.

use super::{CORE_IN, CORE_OUT, Client, UHW_OUT, announce, needs_room};
use crate::ioctl::{Call, DRIVER};
use crate::object::{Object, Space, Type};
use crate::wire::Answer;

/// IB_USER_VERBS_CMD_ALLOC_PD.
pub fn alloc(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 4)?;
    call.optional_input(CORE_IN)?;
    let (handle, pdn) = client.with_context(|device, ufile| {
        let pdn = device.new_number(Space::Pd)?;
        Ok((ufile.add(Object::new(Type::Pd).numbered(Space::Pd, pdn)), pdn))
    })?;
    call.output(CORE_OUT, &handle.to_ne_bytes());
    call.output(UHW_OUT, &pdn.to_ne_bytes());
    announce(client, call, handle, Type::Pd)
}

/// MLX5_IB_METHOD_PD_QUERY: what import_pd asks.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    call.wants(DRIVER + 1, 4)?;
    let handle = call.handle(DRIVER)?;
    let number = client.with_handles(|_, ufile| Ok(ufile.find(handle, Type::Pd)?.number))?;
    call.output(DRIVER + 1, &number.map_or(0, |(_, pdn)| pdn).to_ne_bytes());
    call.flush()
}
