//! What each method of each object does: one file for each class of objects.

mod ah;
mod context;
mod counters;
mod cq;
mod devx;
mod flow;
mod mr;
mod pages;
mod pd;
pub mod qp;
mod srq;
mod transition;
mod umem;
mod wq;
mod xrcd;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::channel::Events;
use crate::device::Device;
use crate::ioctl::{Call, DRIVER};
use crate::object::Type;
use crate::ufile::Ufile;
use crate::wire::Answer;

/// One device file's view of its device.
#[derive(Clone)]
pub struct Client {
    /// The device.
    pub device: Arc<Mutex<Device>>,
    /// Which of its device files.
    pub ufile: u64,
}

impl Client {
    /// The device, locked. Held for moments, never while the program is asked something.
    pub fn lock(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the device file.
    pub fn with<R>(&self, act: impl FnOnce(&mut Device, &mut Ufile) -> Answer<R>) -> Answer<R> {
        let mut device = self.lock();
        let mut ufile = device.ufiles.remove(&self.ufile).ok_or(libc::EIO)?;
        let result = act(&mut device, &mut ufile);
        device.ufiles.insert(self.ufile, ufile);
        result
    }

    /// The same for a call that looks a handle up: where no context was made there are none.
    fn with_handles<R>(&self, act: impl FnOnce(&mut Device, &mut Ufile) -> Answer<R>) -> Answer<R> {
        self.with(|device, ufile| match ufile.context {
            Some(_) => act(device, ufile),
            None => Err(libc::ENOENT),
        })
    }

    /// The same for a call that makes something: where no context was made it is EINVAL.
    fn with_context<R>(&self, act: impl FnOnce(&mut Device, &mut Ufile) -> Answer<R>) -> Answer<R> {
        self.with(|device, ufile| match ufile.context {
            Some(_) => act(device, ufile),
            None => Err(libc::EINVAL),
        })
    }
}

/// One method.
struct Method {
    /// The kind of request, as `emu-control fail` names it.
    name: &'static str,
    /// The attributes it knows.
    attributes: &'static [u16],
    /// It still works when the device was removed.
    survives: bool,
    run: fn(&Client, &Call<'_>) -> Answer<()>,
}

const fn creating(name: &'static str, attributes: &'static [u16], run: fn(&Client, &Call<'_>) -> Answer<()>) -> Method {
    Method { name, attributes, survives: false, run }
}

const fn ending(name: &'static str, attributes: &'static [u16], run: fn(&Client, &Call<'_>) -> Answer<()>) -> Method {
    Method { name, attributes, survives: true, run }
}

/// Objects, methods and attributes as the kernel numbers them (ib_user_ioctl_cmds.h, mlx5_user_ioctl_cmds.h). None:
/// the object has no such method, or there is no such object.
fn method(object: u16, method: u16) -> Option<Method> {
    const D: u16 = DRIVER;
    Some(match (object, method) {
        (0, 2) => creating("query_port", &[0, 1], context::query_port),
        (0, 3) => creating("get_context", &[0, 1, 2, D, D + 1], context::get),
        (0, 4) => creating("query_context", &[0, 1, D], context::query),
        (0, 5) => creating("query_gid_table", &[0, 1, 2, 3], context::gid_table),
        (0, 6) => creating("query_gid_entry", &[0, 1, 2, 3], context::gid_entry),
        (1, 0) => ending("dealloc_pd", &[0], |client, call| end(client, call, 0, Type::Pd)),
        (1, D) => creating("query_pd", &[D, D + 1], pd::query),
        (3, 0) => creating("create_cq", &[0, 1, 2, 3, 4, 5, 6, 7, D, D + 1], cq::create),
        (3, 1) => ending("destroy_cq", &[0, 1], |client, call| end_told(client, call, Type::Cq, 8)),
        (4, 0) => creating("create_qp", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, D, D + 1], qp::create),
        (4, 1) => ending("destroy_qp", &[0, 1], qp::destroy),
        (5, 0) => creating("create_srq", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, D, D + 1], srq::create),
        (5, 1) => ending("destroy_srq", &[0, 1], |client, call| end_told(client, call, Type::Srq, 4)),
        (6, 0) => ending("destroy_ah", &[0], |client, call| end(client, call, 0, Type::Ah)),
        (7, 0) => creating("reg_dm_mr", &[0, 1, 2, 3, 4, 5, 6, 7], mr::register_dm),
        (7, 1) => ending("dereg_mr", &[0], |client, call| end(client, call, 0, Type::Mr)),
        (7, 3) => creating("query_mr", &[0, 1, 2, 3, 4], mr::query),
        (7, 4) => creating("reg_dmabuf_mr", &[0, 1, 2, 3, 4, 5, 6, 7, 8, D], mr::register_dmabuf),
        (7, 5) => creating("reg_mr", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], mr::register_ex),
        (8, 0) => ending("dealloc_mw", &[0], |client, call| end(client, call, 0, Type::Mw)),
        (9, 0) => ending("destroy_flow", &[0], |client, call| end(client, call, 0, Type::Flow)),
        (10, 0) => ending("close_xrcd", &[0], |client, call| end(client, call, 0, Type::Xrcd)),
        (11, 0) => ending("destroy_rwq_ind_table", &[0], |client, call| end(client, call, 0, Type::Table)),
        (12, 0) => creating("create_wq", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, D, D + 1], wq::create),
        (12, 1) => ending("destroy_wq", &[0, 1], |client, call| end_told(client, call, Type::Wq, 4)),
        (14, 0) => creating("alloc_dm", &[0, 1, 2, D, D + 1, D + 2], pages::alloc_dm),
        (14, 1) => ending("free_dm", &[0], |client, call| end(client, call, 0, Type::Dm)),
        (14, 0x1001) => creating("query_dm", &[D, D + 1, D + 2, D + 3], pages::query_dm),
        (15, 0) => creating("create_counters", &[0], counters::create),
        (15, 1) => ending("destroy_counters", &[0], |client, call| end(client, call, 0, Type::Counters)),
        (15, 2) => creating("read_counters", &[0, 1, 2], counters::read),
        (16, 0) => creating("alloc_async_fd", &[0], context::async_fd),
        (18, 0) => creating("export_dmabuf_fd", &[0, 1], pages::export),
        (DRIVER.., _) => return drivers(object, method),
        _ => return None,
    })
}

/// The same of the objects that are mlx5's own.
fn drivers(object: u16, method: u16) -> Option<Method> {
    const D: u16 = DRIVER;
    Some(match (object, method) {
        (0x1000, D) => creating("devx_other", &[D, D + 1], devx::other),
        (0x1000, 0x1002) => creating("devx_query_eqn", &[D, D + 1], devx::event_queue),
        (0x1000, 0x1003) => creating("devx_subscribe_event", &[D, D + 1, D + 2, D + 3, D + 4], devx::subscribe),
        (0x1001, D) => creating("devx_obj_create", &[D, D + 1, D + 2], devx::create),
        (0x1001, 0x1001) => ending("devx_obj_destroy", &[D], |client, call| end(client, call, D, Type::Devx)),
        (0x1001, 0x1002) => creating("devx_obj_modify", &[D, D + 1, D + 2], devx::modify),
        (0x1001, 0x1003) => creating("devx_obj_query", &[D, D + 1, D + 2], devx::query),
        (0x1001, 0x1004) => {
            creating("devx_obj_query_async", &[D, D + 1, D + 2, D + 3, D + 4], devx::query_in_background)
        }
        (0x1002, D) => creating("umem_reg", &[D, D + 1, D + 2, D + 3, D + 4, D + 5, D + 6], umem::register),
        (0x1002, 0x1001) => ending("umem_dereg", &[D], |client, call| end(client, call, D, Type::Umem)),
        (0x1004, D) => creating("devx_create_cmd_comp", &[D], devx::answer_channel),
        (0x1005, D) => creating("devx_create_event_channel", &[D, D + 1], devx::event_channel),
        (0x1006, D) => creating("alloc_var", &[D, D + 1, D + 2, D + 3, D + 4], pages::alloc_var),
        (0x1006, 0x1001) => ending("free_var", &[D], |client, call| end(client, call, D, Type::Var)),
        (0x1007, D) => creating("pp_alloc", &[D, D + 1, D + 2, D + 3], pages::alloc_rate),
        (0x1007, 0x1001) => ending("pp_free", &[D], |client, call| end(client, call, D, Type::Pp)),
        (0x1008, D) => creating("alloc_uar", &[D, D + 1, D + 2, D + 3, D + 4], pages::alloc_uar),
        (0x1008, 0x1001) => ending("destroy_uar", &[D], |client, call| end(client, call, D, Type::Uar)),
        _ => return None,
    })
}

const CORE_IN: u16 = 0;
const CORE_OUT: u16 = 1;
const WRITE_CMD: u16 = 2;
const UHW_IN: u16 = DRIVER;
const UHW_OUT: u16 = DRIVER + 1;

/// The commands of old, carried by an ioctl (ib_user_verbs.h). Those above `EXTENDED` are of the second generation.
fn written(command: u64) -> Option<Method> {
    const EXTENDED: u64 = 0x8000_0000;
    const EXTENDED_END: u64 = EXTENDED + 0xff;
    const ATTRIBUTES: &[u16] = &[CORE_IN, CORE_OUT, WRITE_CMD, UHW_IN, UHW_OUT];
    let (name, run): (_, fn(&Client, &Call<'_>) -> Answer<()>) = match command {
        1 => ("query_device", context::query_device),
        3 => ("alloc_pd", pd::alloc),
        5 => ("create_ah", ah::create),
        9 => ("reg_mr", mr::register),
        11 => ("rereg_mr", mr::reregister),
        14 => ("alloc_mw", mr::allocate_window),
        17 => ("create_comp_channel", context::completion_channel),
        19 => ("resize_cq", cq::resize),
        25 => ("query_qp", qp::query),
        26 => ("modify_qp", qp::modify),
        30 => ("attach_mcast", qp::attach),
        31 => ("detach_mcast", qp::detach),
        33 => ("modify_srq", srq::modify),
        34 => ("query_srq", srq::query),
        37 => ("open_xrcd", xrcd::open),
        EXTENDED..=EXTENDED_END => match command - EXTENDED {
            1 => ("query_device", context::query_device_ex),
            26 => ("modify_qp", qp::modify_ex),
            50 => ("create_flow", flow::create),
            53 => ("modify_wq", wq::modify),
            55 => ("create_rwq_ind_table", wq::create_table),
            57 => ("modify_cq", cq::modify),
            _ => return None,
        },
        _ => return None,
    };
    Some(creating(name, ATTRIBUTES, run))
}

/// All kinds of requests, as `emu-control fail` names them.
pub fn kinds() -> BTreeSet<&'static str> {
    const SECOND_GENERATION: u64 = 0x8000_0000;
    let methods = || (0..0x20).chain(DRIVER..DRIVER + 0x10);
    let called = methods().flat_map(|object| methods().filter_map(move |number| method(object, number)));
    let commands = (0..0x100).flat_map(|command| [command, SECOND_GENERATION + command]);
    called.chain(commands.filter_map(written)).map(|method| method.name).collect()
}

/// The method that a call is for. What is refused must be refused with EOPNOTSUPP wherever a kernel may know it:
/// libibverbs takes EPROTONOSUPPORT and ENOTTY for an old kernel, and goes another way from then on.
fn method_of(call: &Call<'_>) -> Answer<Method> {
    if (call.object, call.method) == (0, 0) {
        call.well_formed()?;
        return written(call.number(WRITE_CMD)?).ok_or(libc::EOPNOTSUPP);
    }
    let unknown = if is_known(call.object, call.method) { libc::EOPNOTSUPP } else { libc::EPROTONOSUPPORT };
    method(call.object, call.method).ok_or(unknown)
}

/// Whether kernels have such a method.
fn is_known(object: u16, method: u16) -> bool {
    let driver_object = (0x1000..=0x1009).contains(&object);
    (object <= 19 && (method <= 16 || (DRIVER..DRIVER + 8).contains(&method)))
        || driver_object && (DRIVER..DRIVER + 16).contains(&method)
}

/// Carries one call out. On success what was created stays only if the program could be told of it.
pub fn run(client: &Client, call: &Call<'_>) -> Answer<()> {
    let method = method_of(call)?;
    call.knows(method.attributes)?;
    admit(client, method.name, method.survives)?;
    (method.run)(client, call)
}

/// Faults that tests asked for, and the device's removal.
fn admit(client: &Client, name: &str, survives: bool) -> Answer<()> {
    let mut device = client.lock();
    if let Some(errno) = device.fault(name) {
        return Err(errno);
    }
    let is_dead = device.removed || device.ufiles.get(&client.ufile).is_none_or(|ufile| ufile.is_dead);
    if is_dead && !survives { Err(libc::EIO) } else { Ok(()) }
}

/// Destroys the object whose handle is in this attribute.
fn end(client: &Client, call: &Call<'_>, id: u16, what: Type) -> Answer<()> {
    let handle = call.handle(id)?;
    client.with_handles(|device, ufile| {
        let object = ufile.destroy(handle, what)?;
        device.forget(&object);
        Ok(())
    })
}

/// The same for what can have events, of which the program is told how many it was given: none, ever.
fn end_told(client: &Client, call: &Call<'_>, what: Type, size: usize) -> Answer<()> {
    call.wants(1, size)?;
    end(client, call, 0, what)?;
    call.output(1, &[]);
    call.flush()
}

/// Tells the program of a new object; if it cannot be told, the object was never there.
fn announce(client: &Client, call: &Call<'_>, handle: u32, what: Type) -> Answer<()> {
    let told = call.flush();
    if told.is_err() {
        let _ = client.with(|device, ufile| {
            let object = ufile.destroy(handle, what)?;
            device.forget(&object);
            Ok(())
        });
    }
    told
}

/// Refuses a descriptor that is not for such events; it may be left out.
fn check_channel(client: &Client, call: &Call<'_>, id: u16, events: Events) -> Answer<()> {
    if !call.has(id) {
        return Ok(());
    }
    let fd = call.fd(id)?;
    client.with_context(|_, ufile| ufile.channels.check(&fd, events))
}

/// A number of at most 32 bits.
fn number32(call: &Call<'_>, id: u16) -> Answer<u32> {
    u32::try_from(call.number(id)?).map_err(|_| libc::EINVAL)
}

/// A number that may be left out.
fn optional32(call: &Call<'_>, id: u16) -> Answer<u32> {
    if call.has(id) { number32(call, id) } else { Ok(0) }
}

/// Whether a process has CAP_NET_RAW, as far as can be seen.
fn has_net_raw(process: i32) -> bool {
    const NET_RAW: u32 = 13;
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits >> NET_RAW & 1 == 1)
}

/// Numbers as a program reads them.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Pins the program's memory, before anything is made. A range of nothing pins nothing.
fn pin(client: &Client, call: &Call<'_>, address: u64, length: u64, write: bool) -> Answer<u64> {
    if length == 0 {
        return Ok(0);
    }
    if !is_countable(length) || address.checked_add(length).is_none() {
        return Err(libc::EINVAL);
    }
    let pinned = client.with_context(|_, ufile| Ok(ufile.pinned()))?;
    call.talk().pin(address, length, write, pinned)?;
    Ok(length)
}

/// Whether the kernel can count the pages of so much memory.
fn is_countable(length: u64) -> bool {
    length.div_ceil(4096) <= u64::from(u32::MAX)
}

/// Room for a reply struct of at least this size: ENOSPC where the program gives less.
fn needs_room(call: &Call<'_>, id: u16, size: usize) -> Answer<()> {
    if call.room(id) < size { Err(libc::ENOSPC) } else { Ok(()) }
}

/// Bytes past the struct that this kernel knows must be zero.
fn known_size(bytes: &[u8], size: usize) -> Answer<()> {
    if bytes.iter().skip(size).any(|byte| *byte != 0) { Err(libc::EOPNOTSUPP) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_documented_and_nothing_else() {
        let text = include_str!("../../../../docs/emulator.md");
        let (_, rest) = text.split_once("Kinds are called").unwrap();
        let (list, _) = rest.split_once("\n\n").unwrap();
        let documented: BTreeSet<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(documented, kinds());
    }
}
