//! Address handles. On an Ethernet port libmlx5 asks the kernel for them, since only that knows the other side's MAC
//! address; on an InfiniBand port it makes them by itself.

use super::{CORE_IN, CORE_OUT, Client, UHW_OUT, announce, needs_room};
use crate::ioctl::{Call, u32_at};
use crate::object::{Object, Type};
use crate::wire::Answer;

/// Where struct ib_uverbs_ah_attr begins in struct ib_uverbs_create_ah, and what stands where in it.
const ADDRESS: usize = 24;
const SGID_INDEX: usize = ADDRESS + 20;
const IS_GLOBAL: usize = ADDRESS + 29;
const PORT: usize = ADDRESS + 30;

/// IB_USER_VERBS_CMD_CREATE_AH: response, user_handle, pd_handle, reserved, the address.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 4)?;
    let input = call.input(CORE_IN)?;
    let byte = |at: usize| input.get(at).copied().unwrap_or(0);
    let pd = u32_at(&input, 16);
    let is_ethernet = client.with_context(|device, ufile| {
        ufile.find(pd, Type::Pd)?;
        Ok(device.is_ethernet)
    })?;
    let is_global = byte(IS_GLOBAL) != 0;
    if byte(PORT) != 1 || (is_global && byte(SGID_INDEX) != 0) || (is_ethernet && !is_global) {
        return Err(libc::EINVAL);
    }
    let mac = if is_ethernet { mac_of(input.get(ADDRESS..ADDRESS + 16).ok_or(libc::EINVAL)?)? } else { [0; 6] };
    let handle = client.with_context(|_, ufile| {
        ufile.find(pd, Type::Pd)?;
        Ok(ufile.add(Object::new(Type::Ah).using(&[(pd, Type::Pd)])))
    })?;
    call.output(CORE_OUT, &handle.to_ne_bytes());
    call.output(UHW_OUT, &[&16_u32.to_ne_bytes()[..], &mac].concat());
    announce(client, call, handle, Type::Ah)
}

/// The MAC address behind a GID: it is in a link-local one and in a multicast one. Of others nobody here can be asked.
fn mac_of(gid: &[u8]) -> Answer<[u8; 6]> {
    match *gid {
        [0xfe, 0x80, .., a, b, c, _, _, d, e, f] => Ok([a ^ 2, b, c, d, e, f]),
        [0xff, .., a, b, c, d] => Ok([0x33, 0x33, a, b, c, d]),
        _ => Err(libc::EHOSTUNREACH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_is_in_some_gids() {
        let local = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55];
        assert_eq!(mac_of(&local), Ok([0, 0x11, 0x22, 0x33, 0x44, 0x55]));
        let group = [0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224, 1, 2, 3];
        assert_eq!(mac_of(&group), Ok([0x33, 0x33, 224, 1, 2, 3]));
        let elsewhere = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1];
        assert_eq!(mac_of(&elsewhere), Err(libc::EHOSTUNREACH));
    }
}
