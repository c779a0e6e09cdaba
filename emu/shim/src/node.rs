//! The device node: opening it, and what it looks like.
use core::ffi::{c_char, c_int};

use verbsguard_emu_proto::{FIRST_MINOR, MAJOR, NODE_DEV_MINOR, request};

use crate::device::{self, Link};
use crate::sys::{self, Result};
use crate::talk::Talk;

/// What F_GETFL shows on files, and not on sockets.
pub const LARGE_FILE: c_int = 0o100_000;
const MODE: u32 = libc::S_IFCHR | 0o666;
const BLOCK: u32 = 4096;

/// open(2) of a device's node.
pub fn open(device: usize, flags: c_int) -> Result<usize> {
    let name = device::socket_name(device).ok_or(libc::ENOENT)?;
    if flags & libc::O_PATH != 0 {
        let args = [libc::AT_FDCWD as usize, name.pointer() as usize, flags as usize, 0, 0, 0];
        // SAFETY: the name is a C string.
        return unsafe { sys::call(libc::SYS_openat, args) };
    }
    device::exists(device)?;
    if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 {
        return Err(libc::EEXIST);
    }
    if flags & libc::O_DIRECTORY != 0 {
        return Err(libc::ENOTDIR);
    }
    let cloexec = if flags & libc::O_CLOEXEC != 0 { libc::SOCK_CLOEXEC } else { 0 };
    let args = [libc::AF_UNIX as usize, (libc::SOCK_SEQPACKET | cloexec) as usize, 0, 0, 0, 0];
    // SAFETY: takes numbers only.
    let fd = unsafe { sys::call(libc::SYS_socket, args)? } as c_int;
    let opened = connect(fd, name.bytes())
        .and_then(|()| Talk::new(request::OPEN, [flags as u64, 0, 0, 0]).hold(fd, false))
        .and_then(|_| if flags & libc::O_NONBLOCK != 0 { set_nonblocking(fd) } else { Ok(()) });
    match opened {
        Ok(()) => Ok(fd as usize),
        Err(error) => {
            sys::close(fd);
            Err(error)
        }
    }
}

fn connect(fd: c_int, name: &[u8]) -> Result<()> {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
    for (slot, &byte) in address.sun_path.iter_mut().zip(name) {
        *slot = byte as c_char;
    }
    let args = [fd as usize, &raw const address as usize, size_of::<libc::sockaddr_un>(), 0, 0, 0];
    // SAFETY: an address of that size.
    match sys::retry(|| unsafe { sys::call(libc::SYS_connect, args) }) {
        Ok(_) => Ok(()),
        Err(libc::ECONNREFUSED) => Err(libc::ENXIO),
        Err(error) => Err(error),
    }
}

fn set_nonblocking(fd: c_int) -> Result<()> {
    let flags = (libc::O_RDWR | libc::O_NONBLOCK) as usize;
    // SAFETY: takes numbers only.
    unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_SETFL as usize, flags, 0, 0, 0]) }.map(|_| ())
}

fn give<T>(value: &T, to: *mut T) -> Result<usize> {
    // SAFETY: a structure that was made of zeros, padding included.
    let bytes = unsafe { core::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) };
    sys::copy_out(to as u64, bytes).map(|()| 0)
}

/// stat(2).
pub fn fill_stat(device: usize, to: *mut libc::stat) -> Result<usize> {
    // SAFETY: numbers only.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    status.st_dev = libc::makedev(0, NODE_DEV_MINOR);
    status.st_ino = device::inode(device);
    status.st_mode = MODE;
    status.st_nlink = 1;
    status.st_rdev = libc::makedev(MAJOR, FIRST_MINOR + device as u32);
    status.st_blksize = BLOCK as _;
    give(&status, to)
}

/// statx(2).
pub fn fill_statx(device: usize, to: *mut libc::statx) -> Result<usize> {
    // SAFETY: numbers only.
    let mut status: libc::statx = unsafe { core::mem::zeroed() };
    status.stx_mask = libc::STATX_BASIC_STATS;
    status.stx_dev_minor = NODE_DEV_MINOR;
    status.stx_ino = device::inode(device);
    status.stx_mode = MODE as u16;
    status.stx_nlink = 1;
    status.stx_rdev_major = MAJOR;
    status.stx_rdev_minor = FIRST_MINOR + device as u32;
    status.stx_blksize = BLOCK;
    give(&status, to)
}

/// readlink(2): the name is cut off at `size`, without a closing zero.
pub fn fill_link(link: Link, to: *mut c_char, size: usize) -> Result<usize> {
    let name = match link {
        Link::To(name) => name,
        Link::Node => return Err(libc::EINVAL),
        Link::Nothing => return Err(libc::ENOENT),
    };
    let length = name.bytes().len().min(size);
    match length {
        0 => Err(libc::EINVAL),
        _ => sys::copy_out(to as u64, &name.bytes()[..length]).map(|()| length),
    }
}
