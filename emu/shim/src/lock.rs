//! fcntl(2)'s locks on a device file; the daemon has the table.
use core::ffi::c_int;

use verbsguard_emu_proto::{Flock, put_words, request};

use crate::sys::{self, Result};
use crate::talk::Talk;

/// `struct flock`: type and whence in the first four bytes, then start, length and pid.
const SIZE: usize = size_of::<libc::flock>();

/// Whether this fcntl command is about locks.
pub fn is_lock(command: c_int) -> bool {
    is_of_description(command) || [libc::F_GETLK, libc::F_SETLK, libc::F_SETLKW].contains(&command)
}

fn is_of_description(command: c_int) -> bool {
    [libc::F_OFD_GETLK, libc::F_OFD_SETLK, libc::F_OFD_SETLKW].contains(&command)
}

/// Sets or asks for a lock.
pub fn lock(fd: c_int, command: c_int, address: u64) -> Result<usize> {
    let asked = read(command, address)?;
    // SAFETY: takes no memory.
    let pid = unsafe { sys::call(libc::SYS_getpid, [0; 6])? };
    let mut talk = Talk::new(request::LOCK, [command as u64, pid as u64, 0, 0]);
    put_words(talk.payload(size_of::<Flock>()), &asked);
    let waits = [libc::F_SETLKW, libc::F_OFD_SETLKW].contains(&command);
    let found = talk.hold(fd, waits)?.lock;
    match command {
        libc::F_GETLK | libc::F_OFD_GETLK => write(address, &found).map(|()| 0),
        _ => Ok(0),
    }
}

fn read(command: c_int, address: u64) -> Result<Flock> {
    let mut bytes = [0; SIZE];
    sys::copy_in(&mut bytes, address)?;
    // SAFETY: any bytes are a lock, and there are as many as it has.
    let lock: libc::flock = unsafe { core::ptr::read_unaligned(bytes.as_ptr().cast()) };
    let whences = [libc::SEEK_SET, libc::SEEK_CUR, libc::SEEK_END];
    if !whences.contains(&c_int::from(lock.l_whence)) || (is_of_description(command) && lock.l_pid != 0) {
        return Err(libc::EINVAL);
    }
    let words = [i64::from(lock.l_type), i64::from(lock.l_whence), lock.l_start, lock.l_len, i64::from(lock.l_pid)];
    Ok(words.map(i64::cast_unsigned))
}

/// Where no lock is in the way the kernel changes the type only.
fn write(address: u64, found: &Flock) -> Result<()> {
    let [kind, whence, start, length, pid] = found.map(u64::cast_signed);
    if kind == i64::from(libc::F_UNLCK) {
        return sys::copy_out(address, &(kind as i16).to_ne_bytes());
    }
    // SAFETY: numbers only.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (kind as i16, whence as i16);
    (lock.l_start, lock.l_len, lock.l_pid) = (start, length, pid as i32);
    // SAFETY: a structure that was made of zeros, padding included.
    let bytes = unsafe { core::slice::from_raw_parts((&raw const lock).cast::<u8>(), SIZE) };
    sys::copy_out(address, bytes)
}
