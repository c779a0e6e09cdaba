//! Reading memory that may not be there, and asking the kernel about it, without ever faulting.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use crate::abi::types::{IbvContext, IbvPd, Mlx5dvDevxUmem};
use crate::call::{errno, set_errno};
use crate::own_stack;
use crate::thread;

/// No page is smaller.
const SMALLEST_PAGE: usize = 4096;

/// What looking at an address gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peek<T> {
    /// What stands there.
    Read(T),
    /// The memory is not there, or not for this access.
    Fault,
    /// The kernel would not tell (a seccomp filter): nothing may be concluded.
    Unknown,
}

impl<T> Peek<T> {
    pub fn read(self) -> Option<T> {
        match self {
            Peek::Read(value) => Some(value),
            Peek::Fault | Peek::Unknown => None,
        }
    }
}

/// A copy of the `T` at `address`. Async-signal-safe.
///
/// # Safety
/// `T` must be valid for any bytes.
unsafe fn read<T: Copy>(address: usize) -> Peek<T> {
    let mut value = MaybeUninit::<T>::uninit();
    match transfer(libc::SYS_process_vm_readv, address, value.as_mut_ptr().cast(), size_of::<T>()) {
        // SAFETY: all bytes were written, and the caller vouches that any bytes make a T.
        Peek::Read(()) => Peek::Read(unsafe { value.assume_init() }),
        Peek::Fault => Peek::Fault,
        Peek::Unknown => Peek::Unknown,
    }
}

/// The `len` bytes at `address`.
pub fn bytes(address: usize, len: usize) -> Peek<Vec<u8>> {
    let mut bytes = vec![0u8; len];
    match transfer(libc::SYS_process_vm_readv, address, bytes.as_mut_ptr().cast(), len) {
        Peek::Read(()) => Peek::Read(bytes),
        Peek::Fault => Peek::Fault,
        Peek::Unknown => Peek::Unknown,
    }
}

/// Whether `len` bytes at `address` can be read: Fault if not. Not asked again of the stack in use and of a page that this
/// thread has just asked about.
pub fn readable(address: usize, len: usize) -> Peek<()> {
    unless_known(&thread::this().readable, address, len, || match bytes(address, len) {
        Peek::Read(_) => Peek::Read(()),
        Peek::Fault => Peek::Fault,
        Peek::Unknown => Peek::Unknown,
    })
}

/// Whether `len` bytes at `address` can be written: Fault if not. They are written with what they hold: the caller is
/// about to hand them to a function that overwrites them.
pub fn writable(address: usize, len: usize) -> Peek<()> {
    unless_known(&thread::this().writable, address, len, || match bytes(address, len) {
        Peek::Read(mut bytes) => transfer(libc::SYS_process_vm_writev, address, bytes.as_mut_ptr().cast(), len),
        Peek::Fault => Peek::Fault,
        Peek::Unknown => Peek::Unknown,
    })
}

fn unless_known(known: &Cell<(usize, u64)>, address: usize, len: usize, ask: impl FnOnce() -> Peek<()>) -> Peek<()> {
    let page = (address / SMALLEST_PAGE, crate::call::time());
    let is_one = address.saturating_add(len).saturating_sub(1) / SMALLEST_PAGE == page.0;
    if is_one && known.get() == page || own_stack::has_in_use(address, len) {
        return Peek::Read(());
    }
    let answer = ask();
    if is_one && answer == Peek::Read(()) {
        known.set(page);
    }
    answer
}

/// process_vm_readv or _writev on ourselves: the kernel's own copy, which answers EFAULT instead of faulting. A raw
/// system call: no cancellation point.
fn transfer(call: libc::c_long, remote: usize, local: *mut c_void, len: usize) -> Peek<()> {
    let before = errno();
    let ours = libc::iovec { iov_base: local, iov_len: len };
    let theirs = libc::iovec { iov_base: remote as *mut c_void, iov_len: len };
    // As wide as the kernel reads them: what is passed to a variadic function is not widened.
    let (one, flags): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: `ours` is a buffer of ours of `len` bytes; `theirs` is checked by the kernel.
    let done = unsafe { libc::syscall(call, libc::getpid(), &raw const ours, one, &raw const theirs, one, flags) };
    let error = errno();
    set_errno(before);
    match done {
        done if done == len as libc::c_long => Peek::Read(()),
        done if done >= 0 || error == libc::EFAULT => Peek::Fault,
        _ => Peek::Unknown,
    }
}

/// `{context, handle}` of the `ibv_pd` at `address`, if it can be read.
pub fn pd(address: usize) -> Option<IbvPd> {
    // SAFETY: pointers and integers: any bytes are valid.
    unsafe { read(address) }.read()
}

/// `{umem_id, context, handle}` of the umem at `address`, if it can be read.
pub fn umem(address: usize) -> Option<Mlx5dvDevxUmem> {
    // SAFETY: pointers and integers: any bytes are valid.
    unsafe { read(address) }.read()
}

/// Whether the bytes of the umem at `address` that no field takes are zero. libmlx5 gets its structs from calloc and writes
/// fields only; in a freed one the allocator's list of free pieces stands over them.
pub fn is_as_made(address: usize) -> bool {
    // SAFETY: integers: any bytes are valid.
    unsafe { read::<[u32; 2]>(address) }.read().is_some_and(|[_umem_id, filler]| filler == 0)
}

/// The pointer at `address`, if it can be read.
pub fn pointer<T>(address: usize) -> Option<*mut T> {
    // SAFETY: a pointer: any bytes are valid.
    unsafe { read::<*mut T>(address) }.read()
}

/// The 32-bit number at `address`, if it can be read.
pub fn word(address: usize) -> Option<u32> {
    // SAFETY: an integer: any bytes are valid.
    unsafe { read::<u32>(address) }.read()
}

/// `cmd_fd` of the context at `address`, if it can be read.
pub fn cmd_fd(address: usize) -> Option<c_int> {
    // SAFETY: an integer: any bytes are valid.
    unsafe { read(address.checked_add(std::mem::offset_of!(IbvContext, cmd_fd))?) }.read()
}

/// Every page of the range is mapped. MS_ASYNC does nothing on Linux but that check (msync(2)).
pub fn is_mapped(address: usize, len: usize) -> bool {
    let before = errno();
    let page = page_size();
    let start = address & !(page - 1);
    let Some(end) = address.checked_add(len) else { return false };
    // SAFETY: MS_ASYNC changes nothing; a range that is not mapped answers ENOMEM.
    let answer = unsafe { libc::syscall(libc::SYS_msync, start, end - start, libc::MS_ASYNC) };
    set_errno(before);
    answer == 0
}

/// Bytes in a page.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(protection: c_int) -> usize {
        // SAFETY: a new anonymous mapping of one page.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), page_size(), protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        at as usize
    }

    #[test]
    fn reads_what_is_there_and_nothing_else() {
        let value = 0x1122_3344_u32;
        // SAFETY: u32.
        assert_eq!(unsafe { read::<u32>(&raw const value as usize) }, Peek::Read(value));
        // SAFETY: u32.
        assert_eq!(unsafe { read::<u32>(8) }, Peek::Fault);
        let guarded = page(libc::PROT_NONE);
        assert_eq!(bytes(guarded, 1), Peek::Fault);
        assert_eq!(bytes(page(libc::PROT_READ) + page_size() - 4, 4), Peek::Read(vec![0; 4]));
    }

    #[test]
    fn writable_means_all_of_it_and_changes_nothing() {
        let mut buffer = [7u8; 8];
        assert_eq!(writable(buffer.as_mut_ptr() as usize, 8), Peek::Read(()));
        assert_eq!(buffer, [7; 8]);
        assert_eq!(writable(page(libc::PROT_READ), 8), Peek::Fault);
        assert_eq!(writable(0, 8), Peek::Fault);
    }

    fn protect(at: usize, protection: c_int) {
        // SAFETY: a page of our own.
        assert_eq!(unsafe { libc::mprotect(at as *mut c_void, page_size(), protection) }, 0);
    }

    #[test]
    fn what_is_known_of_a_page_is_no_more_than_was_asked() {
        let at = page(libc::PROT_READ);
        assert_eq!(readable(at + 8, 8), Peek::Read(()));
        assert_eq!(readable(at, page_size()), Peek::Read(()));
        assert_eq!(writable(at + 8, 8), Peek::Fault, "readable is not writable");
        protect(at, libc::PROT_NONE);
        std::thread::sleep(std::time::Duration::from_millis(25));
        thread::this().begin(crate::stacks::Entry::NONE);
        assert_eq!(readable(at + 8, 8), Peek::Fault, "not for long");
        assert_eq!(readable(8, 8), Peek::Fault, "nor of another page");
    }

    #[test]
    fn mapped_means_every_page() {
        let at = page(libc::PROT_NONE);
        assert!(is_mapped(at + 5, 10));
        // SAFETY: our own page.
        unsafe { libc::munmap(at as *mut c_void, page_size()) };
        assert!(!is_mapped(at + 5, 10));
        assert!(!is_mapped(usize::MAX - 10, 100));
    }
}
