//! Protection domains.

use super::{CORE_IN, CORE_OUT, Client, UHW_OUT, announce, needs_room};
use crate::ioctl::{Call, DRIVER};
use crate::ufile::Kind;
use crate::wire::Answer;

/// IB_USER_VERBS_CMD_ALLOC_PD.
pub fn alloc(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 4)?;
    call.optional_input(CORE_IN)?;
    let (handle, pdn) = client.with_context(|device, ufile| {
        let pdn = device.new_pdn()?;
        Ok((ufile.add(Kind::Pd { pdn }), pdn))
    })?;
    call.output(CORE_OUT, &handle.to_ne_bytes());
    call.output(UHW_OUT, &pdn.to_ne_bytes());
    announce(client, call, handle)
}

/// UVERBS_METHOD_PD_DESTROY.
pub fn destroy(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    client.with_handles(|device, ufile| {
        let pd = ufile.destroy(handle, |object| matches!(object, Kind::Pd { .. }))?;
        device.forget(&pd);
        Ok(())
    })
}

/// MLX5_IB_METHOD_PD_QUERY: what import_pd asks.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    call.wants(DRIVER + 1, 4)?;
    let handle = call.handle(DRIVER)?;
    let pdn = client.with_handles(|_, ufile| ufile.pd(handle))?;
    call.output(DRIVER + 1, &pdn.to_ne_bytes());
    call.flush()
}
