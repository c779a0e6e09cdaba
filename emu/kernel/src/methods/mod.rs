//! What each method of each object does: one file for each class of objects.

mod context;
mod mr;
mod pd;
mod uar;
mod umem;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::ioctl::{Call, DRIVER};
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
        (0, 0) => creating("invoke_write", &[0, 1, 2, D, D + 1], invoke_write),
        (0, 2) => creating("query_port", &[0, 1], context::query_port),
        (0, 3) => creating("get_context", &[0, 1, 2, D, D + 1], context::get),
        (0, 4) => creating("query_context", &[0, 1, D], context::query),
        (0, 5) => creating("query_gid_table", &[0, 1, 2, 3], context::gid_table),
        (0, 6) => creating("query_gid_entry", &[0, 1, 2, 3], context::gid_entry),
        (1, 0) => ending("dealloc_pd", &[0], pd::destroy),
        (1, D) => creating("query_pd", &[D, D + 1], pd::query),
        (7, 1) => ending("dereg_mr", &[0], mr::destroy),
        (7, 3) => creating("query_mr", &[0, 1, 2, 3, 4], mr::query),
        (7, 4) => creating("reg_dmabuf_mr", &[0, 1, 2, 3, 4, 5, 6, 7, 8, D], mr::register_dmabuf),
        (7, 5) => creating("reg_mr", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], mr::register_ex),
        (8, 0) => ending("dealloc_mw", &[0], mr::destroy_window),
        (16, 0) => creating("alloc_async_fd", &[0], context::async_fd),
        (0x1000, D) => creating("devx_other", &[D, D + 1], context::devx_other),
        (0x1002, D) => creating("umem_reg", &[D, D + 1, D + 2, D + 3, D + 4, D + 5, D + 6], umem::register),
        (0x1002, 0x1001) => ending("umem_dereg", &[D], umem::destroy),
        (0x1008, D) => creating("alloc_uar", &[D, D + 1, D + 2, D + 3, D + 4], uar::alloc),
        (0x1008, 0x1001) => ending("destroy_uar", &[D], uar::destroy),
        _ => return None,
    })
}

/// Whether there is such a method, which this device just does not have. What it refuses it must refuse so: libibverbs
/// takes EPROTONOSUPPORT and ENOTTY for an old kernel, and goes another way from then on.
fn is_known(object: u16, method: u16) -> bool {
    let driver_object = (0x1000..=0x1009).contains(&object);
    (object <= 19 && (method <= 16 || (DRIVER..DRIVER + 8).contains(&method)))
        || driver_object && (DRIVER..DRIVER + 16).contains(&method)
}

/// Carries one call out. On success what was created stays only if the program could be told of it.
pub fn run(client: &Client, call: &Call<'_>) -> Answer<()> {
    let Some(method) = method(call.object, call.method) else {
        return Err(if is_known(call.object, call.method) { libc::EOPNOTSUPP } else { libc::EPROTONOSUPPORT });
    };
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

const CORE_IN: u16 = 0;
const CORE_OUT: u16 = 1;
const WRITE_CMD: u16 = 2;
const UHW_IN: u16 = DRIVER;
const UHW_OUT: u16 = DRIVER + 1;
const EXTENDED: u64 = 0x8000_0000;

/// The commands of old, carried by an ioctl (ib_user_verbs.h).
fn invoke_write(client: &Client, call: &Call<'_>) -> Answer<()> {
    let command = call.number(WRITE_CMD)?;
    match command {
        1 => context::query_device(client, call),
        command if command == (EXTENDED | 1) => context::query_device_ex(client, call),
        3 => named(client, "alloc_pd", false, || pd::alloc(client, call)),
        9 => named(client, "reg_mr", false, || mr::register(client, call)),
        11 => named(client, "rereg_mr", false, || mr::reregister(client, call)),
        14 => named(client, "alloc_mw", false, || mr::allocate_window(client, call)),
        _ => Err(libc::EOPNOTSUPP),
    }
}

fn named(client: &Client, name: &str, survives: bool, run: impl FnOnce() -> Answer<()>) -> Answer<()> {
    admit(client, name, survives)?;
    run()
}

/// Whether the kernel can count the pages of so much memory.
fn is_countable(length: u64) -> bool {
    length.div_ceil(4096) <= u64::from(u32::MAX)
}

/// Tells the program of a new object; if it cannot be told, the object was never there.
fn announce(client: &Client, call: &Call<'_>, handle: u32) -> Answer<()> {
    let told = call.flush();
    if told.is_err() {
        let _ = client.with(|device, ufile| {
            let object = ufile.destroy(handle, |_| true)?;
            device.forget(&object);
            Ok(())
        });
    }
    told
}

/// Room for a reply struct of at least this size: ENOSPC where the program gives less.
fn needs_room(call: &Call<'_>, id: u16, size: usize) -> Answer<()> {
    if call.room(id) < size { Err(libc::ENOSPC) } else { Ok(()) }
}

/// Bytes past the struct that this kernel knows must be zero.
fn known_size(bytes: &[u8], size: usize) -> Answer<()> {
    if bytes.iter().skip(size).any(|byte| *byte != 0) { Err(libc::EOPNOTSUPP) } else { Ok(()) }
}
