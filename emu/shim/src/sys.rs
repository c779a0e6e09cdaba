//! System calls without the C library's wrappers, which this library replaces. They leave errno alone.
use core::ffi::{c_int, c_long, c_void};

/// A result with an errno.
pub type Result<T> = core::result::Result<T, c_int>;

/// The calling thread's errno.
pub fn errno() -> c_int {
    // SAFETY: the C library returns a valid pointer to this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's errno.
pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value }
}

/// Any system call.
///
/// # Safety
/// As the system call asks.
pub unsafe fn call(number: c_long, args: [usize; 6]) -> Result<usize> {
    let before = errno();
    let [a, b, c, d, e, f] = args;
    // SAFETY: the caller vouches for the arguments.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        let error = errno();
        set_errno(before);
        return Err(error);
    }
    Ok(result as usize)
}

/// As the C library reports a result.
pub fn report(result: Result<usize>) -> isize {
    match result {
        Ok(value) => value as isize,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Repeats what a signal interrupted.
pub fn retry(mut attempt: impl FnMut() -> Result<usize>) -> Result<usize> {
    loop {
        match attempt() {
            Err(libc::EINTR) => {}
            other => return other,
        }
    }
}

/// close(2).
pub fn close(fd: c_int) {
    // SAFETY: takes a number only.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

fn copy(number: c_long, local: *mut c_void, address: u64, length: usize) -> Result<()> {
    let mine = libc::iovec { iov_base: local, iov_len: length };
    let theirs = libc::iovec { iov_base: address as usize as *mut c_void, iov_len: length };
    // SAFETY: takes no memory.
    let pid = unsafe { call(libc::SYS_getpid, [0; 6])? };
    let (mine, theirs) = (&raw const mine as usize, &raw const theirs as usize);
    // SAFETY: the local side is a buffer of that length; the kernel checks the other one.
    match unsafe { call(number, [pid, mine, 1, theirs, 1, 0])? } {
        copied if copied == length => Ok(()),
        _ => Err(libc::EFAULT),
    }
}

/// Copies from an address of the program's that need not be valid.
pub fn copy_in(buffer: &mut [u8], address: u64) -> Result<()> {
    if buffer.is_empty() {
        return Ok(());
    }
    copy(libc::SYS_process_vm_readv, buffer.as_mut_ptr().cast(), address, buffer.len())
}

/// Copies to an address of the program's that need not be valid.
pub fn copy_out(address: u64, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    copy(libc::SYS_process_vm_writev, bytes.as_ptr().cast_mut().cast(), address, bytes.len())
}

/// Faults a range in for reading or for writing, as pinning it would, so that its errors are the kernel's.
pub fn populate(address: u64, length: u64, write: bool) -> Result<()> {
    let page = 4096;
    let end = address.checked_add(length).and_then(|end| end.checked_next_multiple_of(page)).ok_or(libc::EINVAL)?;
    let start = address & !(page - 1);
    let advice = if write { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    let args = [start as usize, (end - start) as usize, advice as usize, 0, 0, 0];
    // SAFETY: populating changes no contents.
    match retry(|| unsafe { call(libc::SYS_madvise, args) }) {
        Ok(_) => Ok(()),
        Err(libc::EINVAL) => probe(start, end, page),
        Err(_) => Err(libc::EFAULT),
    }
}

/// For kernels before 5.14, and for mappings that cannot be populated so: is there memory at all? Also the place
/// where read-only memory to be written is refused, since the kernel says EINVAL for that as well.
fn probe(start: u64, end: u64, page: u64) -> Result<()> {
    // SAFETY: an empty range: tells only whether the kernel knows the advice.
    let known = unsafe { call(libc::SYS_madvise, [0, 0, libc::MADV_POPULATE_READ as usize, 0, 0, 0]) }.is_ok();
    if known {
        return Err(libc::EFAULT);
    }
    (start..end).step_by(page as usize).try_for_each(|address| copy_in(&mut [0], address))
}

/// The soft limit on locked memory, none where the process may exceed it.
pub fn locked_memory_limit() -> Option<u64> {
    const CAP_IPC_LOCK: u32 = 14;
    let (header, mut data) = ([0x2008_0522_u32, 0], [0_u32; 6]);
    let args = [header.as_ptr() as usize, data.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: version 3 of capget takes a header of two words and fills six.
    if unsafe { call(libc::SYS_capget, args) }.is_ok() && data[0] & (1 << CAP_IPC_LOCK) != 0 {
        return None;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let args = [0, libc::RLIMIT_MEMLOCK as usize, 0, &raw mut limit as usize, 0, 0];
    // SAFETY: the structure is one rlimit.
    unsafe { call(libc::SYS_prlimit64, args) }.ok()?;
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
