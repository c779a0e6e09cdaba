//! Which paths and which descriptors are emulated devices.
use crate::sys::{self, Result};
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use verbsguard_emu_proto::{DEVICES_MAX, FIRST_MINOR, FOLDER_MAX, SOCKET_PREFIX, number_after};

static LENGTH: AtomicUsize = AtomicUsize::new(0);
static FOLDER: [AtomicU8; FOLDER_MAX] = [const { AtomicU8::new(0) }; FOLDER_MAX];

/// A file name on the stack.
pub struct Name {
    bytes: [u8; 108],
    length: usize,
}

impl Name {
    fn new() -> Self {
        Self { bytes: [0; 108], length: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            // The last byte stays zero.
            if self.length < self.bytes.len() - 1 {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
    }

    fn push_number(&mut self, number: usize) {
        let mut digits = [0; 20];
        let (mut rest, mut start) = (number, digits.len());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[start..]);
    }

    /// Without the closing zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// As C wants it.
    pub fn pointer(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

/// Reads the daemon's folder from the environment, once.
pub fn learn_folder() {
    // SAFETY: a constant string; the environment is only read.
    let value = unsafe { libc::getenv(c"VERBSGUARD_EMU".as_ptr()) };
    if value.is_null() || LENGTH.load(Ordering::Relaxed) != 0 {
        return;
    }
    // SAFETY: getenv returned a string.
    let value = unsafe { core::ffi::CStr::from_ptr(value) }.to_bytes();
    if value.is_empty() || value.len() > FOLDER_MAX || value[0] != b'/' {
        return;
    }
    for (slot, byte) in FOLDER.iter().zip(value) {
        slot.store(*byte, Ordering::Relaxed);
    }
    LENGTH.store(value.len(), Ordering::Release);
}

/// The daemon's folder with `rest` after it; none where there is no emulation.
pub fn in_folder(rest: &[u8]) -> Option<Name> {
    if LENGTH.load(Ordering::Acquire) == 0 {
        learn_folder();
    }
    let length = LENGTH.load(Ordering::Acquire);
    let mut name = Name::new();
    for slot in FOLDER.iter().take(length) {
        name.push(&[slot.load(Ordering::Relaxed)]);
    }
    name.push(rest);
    (length != 0).then_some(name)
}

/// The name of a device's socket.
pub fn socket_name(device: usize) -> Option<Name> {
    let mut name = in_folder(b"/")?;
    name.push(SOCKET_PREFIX.as_bytes());
    name.push_number(device);
    Some(name)
}

/// The device whose socket has this name.
fn device_of_socket(path: &[u8]) -> Option<usize> {
    let folder = in_folder(b"/")?;
    number_after(path.strip_prefix(folder.bytes())?, SOCKET_PREFIX.as_bytes())
}

/// The device behind a descriptor: a device file is known by its peer's address.
pub fn of_descriptor(fd: c_int) -> Option<usize> {
    if LENGTH.load(Ordering::Acquire) == 0 {
        return None;
    }
    let mut address = libc::sockaddr_un { sun_family: 0, sun_path: [0; 108] };
    let mut length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    let args = [fd as usize, &raw mut address as usize, &raw mut length as usize, 0, 0, 0];
    // SAFETY: the kernel fills at most `length` bytes of the address.
    unsafe { sys::call(libc::SYS_getpeername, args) }.ok()?;
    if c_int::from(address.sun_family) != libc::AF_UNIX {
        return None;
    }
    let path = address.sun_path.map(|c| c as u8);
    let end = path.iter().position(|&c| c == 0)?;
    device_of_socket(&path[..end])
}

/// The device behind a descriptor opened with O_PATH, which has no peer: known by its name.
pub fn of_path_descriptor(fd: c_int) -> Option<usize> {
    let mut link = Name::new();
    link.push(b"/proc/self/fd/");
    link.push_number(usize::try_from(fd).ok()?);
    let mut target = [0; 108];
    let args = [libc::AT_FDCWD as usize, link.pointer() as usize, target.as_mut_ptr() as usize, target.len(), 0, 0];
    // SAFETY: the name is a C string and the buffer has that length.
    let length = unsafe { sys::call(libc::SYS_readlinkat, args) }.ok()?;
    device_of_socket(&target[..length])
}

/// What a path means while there is emulation.
pub enum Meaning {
    /// An emulated device, which may have been removed.
    Device(usize),
    /// A name that belongs to real RDMA hardware: there is none.
    Nothing,
    /// None of our business.
    Other,
}

/// Copies the start of a C string; longer ones are none that we know.
///
/// # Safety
/// `path` is a C string.
unsafe fn start_of(path: *const c_char) -> Option<Name> {
    let mut name = Name::new();
    for index in 0..64 {
        // SAFETY: no byte before this one was the closing zero.
        match unsafe { *path.add(index) } as u8 {
            0 => return Some(name),
            byte => name.push(&[byte]),
        }
    }
    None
}

/// What this path means; with `follow` also one that names a descriptor.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn of_path(path: *const c_char, follow: bool) -> Meaning {
    if path.is_null() || in_folder(b"").is_none() {
        return Meaning::Other;
    }
    // SAFETY: the caller's promise.
    match unsafe { *path } as u8 {
        b'/' => {}
        _ => return Meaning::Other,
    }
    // SAFETY: the caller's promise.
    match unsafe { start_of(path) } {
        Some(name) => of_name(name.bytes(), follow),
        None => Meaning::Other,
    }
}

fn of_name(name: &[u8], follow: bool) -> Meaning {
    if let Some(rest) = name.strip_prefix(b"/dev/infiniband/") {
        return match number_after(rest, SOCKET_PREFIX.as_bytes()) {
            Some(device) if device < DEVICES_MAX => Meaning::Device(device),
            _ if rest.is_empty() => Meaning::Other,
            _ => Meaning::Nothing,
        };
    }
    if let Some(minor) = number_after(name, b"/dev/char/231:") {
        return match minor.checked_sub(FIRST_MINOR as usize) {
            Some(device) if device < DEVICES_MAX => Meaning::Device(device),
            _ => Meaning::Nothing,
        };
    }
    match descriptor_named(name).filter(|_| follow).and_then(of_descriptor) {
        Some(device) => Meaning::Device(device),
        None => Meaning::Other,
    }
}

fn descriptor_named(name: &[u8]) -> Option<c_int> {
    let number = number_after(name, b"/proc/self/fd/").or_else(|| number_after(name, b"/dev/fd/"));
    number.map(|fd| fd as c_int)
}

/// What readlink finds at a path that has to do with devices.
pub enum Link {
    /// A link to this name.
    To(Name),
    /// A device's node, which is no link.
    Node,
    /// Nothing at all.
    Nothing,
}

/// What readlink finds; none where the path is none of our business.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn of_link(path: *const c_char) -> Option<Link> {
    // SAFETY: the caller's promise.
    match unsafe { of_path(path, false) } {
        Meaning::Device(_) => return Some(Link::Node),
        Meaning::Nothing => return Some(Link::Nothing),
        Meaning::Other if path.is_null() => return None,
        Meaning::Other => {}
    }
    // SAFETY: the caller's promise.
    let name = unsafe { start_of(path) }?;
    let fd = descriptor_named(name.bytes())?;
    let device = of_descriptor(fd).or_else(|| of_path_descriptor(fd))?;
    let mut target = Name::new();
    target.push(b"/dev/infiniband/");
    target.push(SOCKET_PREFIX.as_bytes());
    target.push_number(device);
    Some(Link::To(target))
}

/// Whether the device is still there.
pub fn exists(device: usize) -> Result<()> {
    let name = socket_name(device).ok_or(libc::ENOENT)?;
    let args = [libc::AT_FDCWD as usize, name.pointer() as usize, libc::F_OK as usize, 0, 0, 0];
    // SAFETY: the name is a C string.
    unsafe { sys::call(libc::SYS_faccessat, args) }.map(|_| ()).map_err(|_| libc::ENOENT)
}

/// The inode number of a device's node.
pub fn inode(device: usize) -> u64 {
    let folder = in_folder(b"");
    verbsguard_emu_proto::inode(folder.as_ref().map_or(&[][..], Name::bytes), device)
}
