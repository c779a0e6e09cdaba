//! Mappings of a device file, which keep it open: each has a hidden duplicate of the descriptor until munmap.
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use verbsguard_emu_proto::request;

use crate::sys::{self, Result};
use crate::talk::Talk;

const MAPPINGS_MAX: usize = 512;
const PAGE: usize = 4096;
/// Where hidden descriptors go if they can: out of the way of the program's own numbers.
const HIDDEN: usize = 900;
const FREE: usize = 0;
const CLAIMED: usize = 1;

/// One mapping. Devices map single pages, so that none is ever unmapped in part.
struct Slot {
    /// FREE, CLAIMED, or the page that is mapped. Whoever claimed a slot owns the rest of it.
    page: AtomicUsize,
    keeper: AtomicI32,
    /// The keeper's inode number: a program may close descriptors that it does not know, and reuse their numbers.
    inode: AtomicU64,
}

static SLOTS: [Slot; MAPPINGS_MAX] =
    [const { Slot { page: AtomicUsize::new(FREE), keeper: AtomicI32::new(-1), inode: AtomicU64::new(0) } };
        MAPPINGS_MAX];
/// No slot at this index or later was ever in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// What mmap was asked for.
pub struct Wanted {
    /// Where.
    pub address: usize,
    /// How many bytes.
    pub length: usize,
    /// PROT_….
    pub protection: c_int,
    /// MAP_….
    pub flags: c_int,
}

/// mmap(2) of a device file.
pub fn map(fd: c_int, wanted: &Wanted, offset: libc::off_t) -> Result<usize> {
    let Wanted { address, length, protection, flags } = *wanted;
    let args = [offset as u64, length as u64, protection as u64, flags as u64];
    let memory = Talk::new(request::MMAP, args).hold(fd, false)?.fd.ok_or(libc::EIO)?;
    if flags & libc::MAP_FIXED != 0 {
        forget(address, length);
    }
    let args = [address, length, protection as usize, flags as usize, memory as usize, 0];
    // SAFETY: the program's own request, with the device's memory in place of the device.
    let mapped = unsafe { sys::call(libc::SYS_mmap, args) };
    sys::close(memory);
    let page = mapped?;
    match keep(page, fd) {
        Ok(()) => Ok(page),
        Err(error) => {
            // SAFETY: the mapping made above, which nobody has seen.
            let _ = unsafe { sys::call(libc::SYS_munmap, [page, length, 0, 0, 0, 0]) };
            Err(error)
        }
    }
}

fn keep(page: usize, fd: c_int) -> Result<()> {
    let (index, slot) = SLOTS
        .iter()
        .enumerate()
        .find(|(_, slot)| slot.page.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok())
        .ok_or(libc::ENOMEM)?;
    USED.fetch_max(index + 1, Ordering::Relaxed);
    match duplicate(fd) {
        Ok(keeper) => {
            slot.keeper.store(keeper, Ordering::Relaxed);
            slot.inode.store(inode(keeper).unwrap_or(0), Ordering::Relaxed);
            slot.page.store(page, Ordering::Release);
            Ok(())
        }
        Err(error) => {
            slot.page.store(FREE, Ordering::Release);
            Err(error)
        }
    }
}

/// The mappings in this range are about to go.
pub fn forget(address: usize, length: usize) {
    let end = address.saturating_add(length);
    for slot in &SLOTS[..USED.load(Ordering::Relaxed)] {
        let page = slot.page.load(Ordering::Acquire);
        if page < PAGE || page < address || page >= end {
            continue;
        }
        if slot.page.compare_exchange(page, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            let keeper = slot.keeper.load(Ordering::Relaxed);
            if inode(keeper) == Some(slot.inode.load(Ordering::Relaxed)) {
                sys::close(keeper);
            }
            slot.page.store(FREE, Ordering::Release);
        }
    }
}

/// The limit on descriptors may leave no room for high numbers.
fn duplicate(fd: c_int) -> Result<c_int> {
    let attempt = |from: usize| {
        let args = [fd as usize, libc::F_DUPFD_CLOEXEC as usize, from, 0, 0, 0];
        // SAFETY: takes numbers only.
        unsafe { sys::call(libc::SYS_fcntl, args) }
    };
    attempt(HIDDEN).or_else(|_| attempt(0)).map(|keeper| keeper as c_int)
}

fn inode(fd: c_int) -> Option<u64> {
    // SAFETY: numbers only.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel fills the structure.
    unsafe { sys::call(libc::SYS_fstat, [fd as usize, &raw mut status as usize, 0, 0, 0, 0]) }.ok()?;
    Some(status.st_ino)
}
