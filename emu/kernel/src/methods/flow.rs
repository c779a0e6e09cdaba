//! Steering: rules that send packets to a queue pair.

use super::{CORE_IN, CORE_OUT, Client, announce, has_net_raw, needs_room, qp, words};
use crate::ioctl::{Call, u32_at};
use crate::object::{Object, Type};
use crate::wire::Answer;

/// struct ib_uverbs_create_flow: comp_mask, qp_handle, then a flow_attr: type, size, priority, num_of_specs, port, flags.
const SPECS: usize = 24;
const SPECS_MAX: u8 = 10;
/// IB_FLOW_SPEC_ACTION_COUNT.
const COUNT: u32 = 0x1003;
/// ib_flow_attr_type: normal, all default, multicast default, sniffer.
const TYPES: u32 = 4;
/// IB_FLOW_ATTR_FLAGS_…: do not trap, egress.
const DONT_TRAP: u32 = 1;
const FLAGS: u32 = 3;

/// IB_USER_VERBS_EX_CMD_CREATE_FLOW.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 8)?;
    let input = call.input(CORE_IN)?;
    let [mask, pair, kind, flags] = [0, 4, 8, 20].map(|at| u32_at(&input, at));
    if !has_net_raw(call.talk().caller()) {
        return Err(libc::EPERM);
    }
    let port = input.get(19).copied().unwrap_or(0);
    let is_default = kind == 1 || kind == 2;
    if mask != 0 || flags & !FLAGS != 0 || (flags & DONT_TRAP != 0 && is_default) || kind >= TYPES || port > 1 {
        return Err(libc::EINVAL);
    }
    let counters = counters(&input)?;
    let handle = client.with_context(|_, ufile| {
        qp::check_target(ufile, pair)?;
        let counters = counters.map(|handle| (handle, Type::Counters));
        let used: Vec<_> = [(pair, Type::Qp)].into_iter().chain(counters).collect();
        // The kernel says so of whatever is missing here.
        ufile.find_all(&used).map_err(|_| libc::EINVAL)?;
        Ok(ufile.add(Object::new(Type::Flow).using(&used)))
    })?;
    call.output(CORE_OUT, &words(&[0, handle]));
    announce(client, call, handle, Type::Flow)
}

/// Walks through the specifications; what counts is named by a handle.
fn counters(input: &[u8]) -> Answer<Option<u32>> {
    let count = input.get(16).copied().unwrap_or(0);
    let end = SPECS + (u32_at(input, 12) & 0xffff) as usize;
    if count > SPECS_MAX || end > input.len() {
        return Err(libc::EINVAL);
    }
    let (mut at, mut found) = (SPECS, None);
    for _ in 0..count {
        let (kind, size) = (u32_at(input, at), (u32_at(input, at + 4) & 0xffff) as usize);
        if size < 8 || at + size > end {
            return Err(libc::EINVAL);
        }
        if kind == COUNT {
            found = Some(u32_at(input, at + 8));
        }
        at += size;
    }
    if at == end { Ok(found) } else { Err(libc::EINVAL) }
}
