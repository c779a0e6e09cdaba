//! Queue pairs: made, taken through their states and destroyed. Nothing is ever sent or received.

use super::transition::{self, kind, mask, state};
use super::{CORE_IN, CORE_OUT, Client, UHW_IN, UHW_OUT, announce, check_channel, end_told, needs_room, optional32};
use super::{has_net_raw, number32, pin, words};
use crate::channel::Events;
use crate::ioctl::{Call, u32_at, u64_at};
use crate::object::{More, Object, Space, Type};
use crate::ufile::Ufile;
use crate::wire::Answer;

/// How many work requests a queue can have.
pub const REQUESTS_MAX: u32 = 1 << 15;
/// struct ib_uverbs_modify_qp.
const MODIFY: usize = 112;
/// The flags of IB_UVERBS_QP_CREATE_…
const SIGNAL_ALL: u32 = 1 << 12;
const CREATE_FLAGS: u32 = 1 << 1 | 1 << 8 | 1 << 9 | 1 << 11 | SIGNAL_ALL;
/// MLX5_QP_FLAG_…
const TYPE_DCT: u32 = 1 << 4;
const DRIVER_FLAGS: u32 = 0xfff;

/// A queue pair.
#[derive(Debug)]
pub struct Queue {
    kind: u32,
    state: u8,
    signals_all: bool,
    caps: [u32; 5],
    /// What was set, laid out as struct ib_uverbs_modify_qp.
    set: [u8; MODIFY],
    /// The multicast groups it is in: GID and LID.
    groups: Vec<[u8; 18]>,
}

/// UVERBS_METHOD_QP_CREATE.
pub fn create(client: &Client, call: &Call<'_>) -> Answer<()> {
    let uses = Uses::read(call)?;
    client.with_context(|_, ufile| ufile.find_all(&uses.all()))?;
    check_channel(client, call, 12, Events::Asynchronous)?;
    let (caps, kind, _name) = (call.input(8)?, number32(call, 9)?, call.number(7)?);
    uses.fit(call, kind)?;
    let flags = optional32(call, 10)?;
    let is_special = kind == kind::RAW || kind == kind::UD || kind == kind::DRIVER;
    if flags & !CREATE_FLAGS != 0 || (flags & !SIGNAL_ALL != 0 && !is_special) {
        return Err(libc::EINVAL);
    }
    let driver = call.optional_input(UHW_IN)?;
    let is_target = kind == kind::DRIVER && u32_at(&driver, 28) & TYPE_DCT != 0;
    let kind = if is_target { kind::DCT } else { kind };
    let caps = [0, 4, 8, 12, 16].map(|at| u32_at(&caps, at));
    client.with_context(|_, ufile| uses.fit_shared(ufile, kind))?;
    let pinned = pin_any(client, call, &uses, kind, &driver)?;
    let signals_all = flags & SIGNAL_ALL != 0;
    let queue = Queue { kind, state: state::RESET, signals_all, caps, set: [0; MODIFY], groups: Vec::new() };
    let (handle, number) = client.with_context(|device, ufile| {
        ufile.find_all(&uses.all())?;
        let number = device.new_number(Space::Qp)?;
        let qp = Object::new(Type::Qp).numbered(Space::Qp, number).using(&uses.all()).pinning(pinned);
        Ok((ufile.add(qp.with(More::Queue(Box::new(queue)))), number))
    })?;
    call.new_handle(0, handle)?;
    call.output(13, &words(&caps));
    // A target of dynamic connections is told its number when it is ready.
    call.output(14, &if is_target { 0 } else { number }.to_ne_bytes());
    call.output(UHW_OUT, &[]);
    announce(client, call, handle, Type::Qp)
}

/// The objects that a queue pair is made with.
struct Uses(Vec<(u16, u32, Type)>);

const XRCD: u16 = 1;
const PD: u16 = 2;
const SRQ: u16 = 3;
const SEND_CQ: u16 = 4;
const RECV_CQ: u16 = 5;
const TABLE: u16 = 6;

impl Uses {
    fn read(call: &Call<'_>) -> Answer<Self> {
        let known = [(XRCD, Type::Xrcd), (PD, Type::Pd), (SRQ, Type::Srq), (SEND_CQ, Type::Cq), (RECV_CQ, Type::Cq)];
        let known = known.into_iter().chain([(TABLE, Type::Table)]);
        let given = known.filter(|(id, _)| call.has(*id));
        given.map(|(id, what)| Ok((id, call.handle(id)?, what))).collect::<Answer<_>>().map(Uses)
    }

    fn has(&self, id: u16) -> bool {
        self.0.iter().any(|(known, ..)| *known == id)
    }

    fn all(&self) -> Vec<(u32, Type)> {
        self.0.iter().map(|(_, handle, what)| (*handle, *what)).collect()
    }

    /// Whether a queue pair of this type can be made with these.
    fn fit(&self, call: &Call<'_>, kind: u32) -> Answer<()> {
        let (needed, barred): (&[u16], &[u16]) = match kind {
            kind::RAW if !has_net_raw(call.talk().caller()) => return Err(libc::EPERM),
            // One that spreads over a table of work queues has no queue of its own to receive with.
            kind::RAW if self.has(TABLE) => (&[PD], &[RECV_CQ, SRQ, XRCD]),
            _ if self.has(TABLE) => return Err(libc::EOPNOTSUPP),
            kind::RC | kind::UC | kind::UD | kind::RAW | kind::DRIVER => (&[PD, SEND_CQ, RECV_CQ], &[XRCD]),
            kind::XRC_INI => (&[PD, SEND_CQ], &[XRCD, SRQ]),
            kind::XRC_TGT => (&[XRCD], &[PD, SEND_CQ, RECV_CQ]),
            _ => return Err(libc::EINVAL),
        };
        let is_good = needed.iter().all(|id| self.has(*id)) && !barred.iter().any(|id| self.has(*id));
        if is_good { Ok(()) } else { Err(libc::EINVAL) }
    }

    /// The shared receive queues of a domain are for the queue pairs of domains, and for no others.
    fn fit_shared(&self, ufile: &Ufile, kind: u32) -> Answer<()> {
        let shared = self.0.iter().filter(|(id, ..)| *id == SRQ);
        for (_, handle, what) in shared {
            let is_xrc = matches!(ufile.find(*handle, *what)?.more, More::Shared { xrc: true, .. });
            if is_xrc != (kind == kind::XRC_TGT) {
                return Err(libc::EINVAL);
            }
        }
        Ok(())
    }
}

/// struct mlx5_ib_create_qp_rss: rx_hash_fields_mask, rx_hash_function, rx_key_len.
fn check_hash(driver: &[u8]) -> Answer<()> {
    const TOEPLITZ: u8 = 1;
    const KEY: u8 = 40;
    match (driver.get(8), driver.get(9)) {
        (Some(&TOEPLITZ), Some(&KEY)) => Ok(()),
        (Some(&TOEPLITZ), _) => Err(libc::EINVAL),
        _ => Err(libc::EOPNOTSUPP),
    }
}

/// The memory of a new queue pair.
fn pin_any(client: &Client, call: &Call<'_>, uses: &Uses, kind: u32, driver: &[u8]) -> Answer<u64> {
    match kind {
        kind::XRC_TGT => Ok(0),
        kind::DCT if uses.has(SRQ) => Ok(0),
        kind::DCT => Err(libc::EINVAL),
        _ if uses.has(TABLE) => check_hash(driver).map(|()| 0),
        _ => pin_queue(client, call, driver),
    }
}

/// struct mlx5_ib_create_qp: buf_addr, db_addr, sq_wqe_count, rq_wqe_count, rq_wqe_shift, flags, uidx, bfreg_index,
/// sq_buf_addr. A raw queue pair's two queues lie apart.
fn pin_queue(client: &Client, call: &Call<'_>, driver: &[u8]) -> Answer<u64> {
    let [sends, receives, shift, flags] = [16, 20, 24, 28].map(|at| u32_at(driver, at));
    if flags & !DRIVER_FLAGS != 0 {
        return Err(libc::EINVAL);
    }
    let is_power = |count: u32| count == 0 || count.is_power_of_two();
    if !is_power(sends) || sends > REQUESTS_MAX || receives > REQUESTS_MAX || shift > 31 {
        return Err(libc::EINVAL);
    }
    let (send_bytes, receive_bytes) = (u64::from(sends) << 6, u64::from(receives) << shift);
    let (buffer, send_buffer) = (u64_at(driver, 0), u64_at(driver, 40));
    let pinned = if send_buffer == 0 {
        pin(client, call, buffer, send_bytes + receive_bytes, false)?
    } else {
        pin(client, call, buffer, receive_bytes, false)? + pin(client, call, send_buffer, send_bytes, false)?
    };
    pin(client, call, u64_at(driver, 8), 8, true)?;
    Ok(pinned)
}

/// UVERBS_METHOD_QP_DESTROY.
pub fn destroy(client: &Client, call: &Call<'_>) -> Answer<()> {
    let handle = call.handle(0)?;
    client.with_handles(|_, ufile| match queue(ufile.change(handle, Type::Qp)?)?.groups.is_empty() {
        true => Ok(()),
        false => Err(libc::EBUSY),
    })?;
    end_told(client, call, Type::Qp, 4)
}

/// Refuses what packets cannot be steered to.
pub fn check_target(ufile: &Ufile, handle: u32) -> Answer<()> {
    match &ufile.find(handle, Type::Qp).map_err(|_| libc::EINVAL)?.more {
        More::Queue(queue) if queue.kind == kind::UD || queue.kind == kind::RAW => Ok(()),
        _ => Err(libc::EINVAL),
    }
}

fn queue(more: &mut More) -> Answer<&mut Queue> {
    match more {
        More::Queue(queue) => Ok(queue),
        _ => Err(libc::EINVAL),
    }
}

/// Which bytes of struct ib_uverbs_modify_qp an attribute is in.
const PLACES: [(u32, usize, usize); 19] = [
    (mask::PATH, 0, 32),
    (mask::ALTERNATE, 32, 32),
    (mask::QKEY, 72, 4),
    (mask::RQ_PSN, 76, 4),
    (mask::SQ_PSN, 80, 4),
    (mask::DEST, 84, 4),
    (mask::ACCESS, 88, 4),
    (mask::PKEY, 92, 2),
    (mask::ALTERNATE, 94, 2),
    (mask::MTU, 98, 1),
    (mask::MIGRATION, 99, 1),
    (mask::READS, 101, 1),
    (mask::DEST_READS, 102, 1),
    (mask::RNR_TIMER, 103, 1),
    (mask::PORT, 104, 1),
    (mask::TIMEOUT, 105, 1),
    (mask::RETRY, 106, 1),
    (mask::RNR_RETRY, 107, 1),
    (mask::ALTERNATE, 108, 2),
];
const HANDLE: usize = 64;
const MASK: usize = 68;
const STATE: usize = 96;
const CURRENT_STATE: usize = 97;
const PKEY: usize = 92;
const PORT: usize = 104;
const ALTERNATE_PORT: usize = 108;
const ALTERNATE_PATH: usize = 32;
/// In a path: which GID it is from, whether it has a global header, the port.
const PATH_GID: usize = 24;
const PATH_IS_GLOBAL: usize = 30;
const PATH_PORT: usize = 31;

/// Whether the device has the ports, GIDs and P_Keys: the one port is number 1, its one GID and its one P_Key 0.
fn is_there(wish: &[u8; MODIFY], asked: u32) -> bool {
    let is_path = |at: usize| wish[at + PATH_PORT] == 1 && (wish[at + PATH_IS_GLOBAL] == 0 || wish[at + PATH_GID] == 0);
    let is_good = [
        (mask::PORT, wish[PORT] == 1),
        (mask::PKEY, wish[PKEY] | wish[PKEY + 1] == 0),
        (mask::PATH, is_path(0)),
        (mask::ALTERNATE, wish[ALTERNATE_PORT] == 1 && is_path(ALTERNATE_PATH)),
    ];
    is_good.iter().all(|(bit, is_good)| asked & bit == 0 || *is_good)
}

impl Queue {
    fn modify(&mut self, wish: &[u8]) -> Answer<()> {
        let mut wish: [u8; MODIFY] = wish.get(..MODIFY).and_then(|wish| wish.try_into().ok()).ok_or(libc::ENOSPC)?;
        let mut asked = transition::meant(self.kind, u32_at(&wish, MASK));
        let from = if asked & mask::CURRENT != 0 { wish[CURRENT_STATE] } else { self.state };
        let to = if asked & mask::STATE != 0 { wish[STATE] } else { from };
        // With another path the port changes too; the kernel adds it to what is asked.
        if asked & (mask::PATH | mask::PORT) == mask::PATH && to != state::RTR {
            asked |= mask::PORT;
            wish[PORT] = wish[PATH_PORT];
        }
        if from != self.state || !is_there(&wish, asked) {
            return Err(libc::EINVAL);
        }
        transition::check(self.kind, from, to, asked)?;
        for (_, at, length) in PLACES.into_iter().filter(|(bit, ..)| asked & bit != 0) {
            self.set[at..at + length].copy_from_slice(&wish[at..at + length]);
        }
        self.state = to;
        if to == state::RESET {
            self.set = [0; MODIFY];
        }
        Ok(())
    }

    /// struct ib_uverbs_query_qp_resp.
    fn told(&self) -> Vec<u8> {
        let mut reply = self.set[..64].to_vec();
        reply.extend(words(&self.caps));
        reply.extend(&self.set[72..96]);
        reply.extend([self.state, self.state]);
        reply.extend(&self.set[98..100]);
        reply.push(0);
        reply.extend(&self.set[101..110]);
        reply.push(u8::from(self.signals_all));
        reply.resize(128, 0);
        reply
    }
}

/// IB_USER_VERBS_CMD_MODIFY_QP.
pub fn modify(client: &Client, call: &Call<'_>) -> Answer<()> {
    let wish = call.input(CORE_IN)?;
    if u32_at(&wish, MASK) & mask::RATE != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    change(client, &wish).map(drop)
}

/// IB_USER_VERBS_EX_CMD_MODIFY_QP: the same, and a rate limit, which this device does not have. A target of dynamic
/// connections gets its number this way: struct mlx5_ib_modify_qp_resp.
pub fn modify_ex(client: &Client, call: &Call<'_>) -> Answer<()> {
    let wish = call.input(CORE_IN)?;
    if u32_at(&wish, MASK) & mask::RATE != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let target = change(client, &wish)?;
    call.output(CORE_OUT, &words(&[0, 8]));
    call.output(UHW_OUT, &words(&[16, target.unwrap_or(0), 0, 0]));
    call.flush()
}

/// The number of a target of dynamic connections that is ready by now.
fn change(client: &Client, wish: &[u8]) -> Answer<Option<u32>> {
    let handle = u32_at(wish, HANDLE);
    client.with_handles(|_, ufile| {
        let queue = queue(ufile.change(handle, Type::Qp)?)?;
        queue.modify(wish)?;
        let is_ready = queue.kind == kind::DCT && queue.state == state::RTR;
        let number = ufile.find(handle, Type::Qp)?.number;
        Ok(number.filter(|_| is_ready).map(|(_, number)| number))
    })
}

/// IB_USER_VERBS_CMD_QUERY_QP: response, qp_handle, attr_mask.
pub fn query(client: &Client, call: &Call<'_>) -> Answer<()> {
    needs_room(call, CORE_OUT, 128)?;
    let handle = u32_at(&call.input(CORE_IN)?, 8);
    let reply = client.with_handles(|_, ufile| Ok(queue(ufile.change(handle, Type::Qp)?)?.told()))?;
    call.output(CORE_OUT, &reply);
    call.flush()
}

/// The group that IB_USER_VERBS_CMD_ATTACH_MCAST and DETACH_MCAST are about: gid, qp_handle, mlid.
fn group(input: &[u8]) -> Answer<(u32, [u8; 18])> {
    let mut group = [0; 18];
    group[..16].copy_from_slice(input.get(..16).ok_or(libc::EINVAL)?);
    group[16..].copy_from_slice(input.get(20..22).ok_or(libc::EINVAL)?);
    Ok((u32_at(input, 16), group))
}

/// IB_USER_VERBS_CMD_ATTACH_MCAST. Again is not twice.
pub fn attach(client: &Client, call: &Call<'_>) -> Answer<()> {
    const FIRST_LID: u16 = 0xc000;
    let (handle, group) = group(&call.input(CORE_IN)?)?;
    let lid = u16::from_ne_bytes([group[16], group[17]]);
    client.with_handles(|_, ufile| {
        let queue = queue(ufile.change(handle, Type::Qp)?)?;
        if queue.groups.contains(&group) {
            return Ok(());
        }
        if group[0] != 0xff || queue.kind != kind::UD || lid < FIRST_LID || lid == u16::MAX {
            return Err(libc::EINVAL);
        }
        queue.groups.push(group);
        Ok(())
    })
}

/// IB_USER_VERBS_CMD_DETACH_MCAST.
pub fn detach(client: &Client, call: &Call<'_>) -> Answer<()> {
    let (handle, group) = group(&call.input(CORE_IN)?)?;
    client.with_handles(|_, ufile| {
        let queue = queue(ufile.change(handle, Type::Qp)?)?;
        let at = queue.groups.iter().position(|known| *known == group).ok_or(libc::EINVAL)?;
        queue.groups.remove(at);
        Ok(())
    })
}
