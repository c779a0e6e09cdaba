//! Writing without a trace: errno, signals and cancellation stay as the program had them.

use std::ffi::{c_int, c_long};
use std::mem::MaybeUninit;
use std::ptr;

use crate::call::{PTHREAD_CANCEL_DISABLE, errno, set_cancel_state, set_errno};

/// How long a full pipe is waited for, in milliseconds, before a report is given up.
const PATIENCE: c_int = 1000;

/// While it lives, a write to a closed pipe raises no SIGPIPE, and this thread is not cancelled; at its end errno is
/// what it was.
pub(crate) struct Quiet {
    errno: c_int,
    cancel: c_int,
    mask: libc::sigset_t,
    /// SIGPIPE was waiting already, so one that waits at the end may be the program's own.
    pending: bool,
}

impl Quiet {
    pub(crate) fn new() -> Quiet {
        let errno = errno();
        let cancel = set_cancel_state(PTHREAD_CANCEL_DISABLE);
        let mut mask = empty();
        // SAFETY: changes this thread's own mask, with sets that live here.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &sigpipe(), &raw mut mask) };
        Quiet { errno, cancel, mask, pending: is_pending() }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if !self.pending && is_pending() {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let size = size_of::<u64>() as c_long;
            // SAFETY: takes the one signal that our own write raised. The raw call, for the C library's one is a
            // cancellation point.
            unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, &sigpipe(), ptr::null_mut::<u8>(), &now, size) };
        }
        // SAFETY: gives this thread back the mask that `new` took.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut()) };
        set_cancel_state(self.cancel);
        set_errno(self.errno);
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills the whole set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn sigpipe() -> libc::sigset_t {
    let mut set = empty();
    // SAFETY: a set of our own.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    set
}

fn is_pending() -> bool {
    let mut pending = empty();
    // SAFETY: a set of our own.
    unsafe {
        libc::sigpending(&raw mut pending);
        libc::sigismember(&raw const pending, libc::SIGPIPE) == 1
    }
}

/// Writes everything, in one piece where the kernel takes it. The raw call, for write(2) is a cancellation point.
pub(super) fn write_all(fd: c_int, mut bytes: &[u8]) -> Result<(), c_int> {
    while !bytes.is_empty() {
        // SAFETY: the bytes live here, and no more than there are is asked for.
        let written = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return Err(libc::EIO),
            Ok(written) => bytes = &bytes[written..],
            Err(_) => match errno() {
                libc::EINTR => {}
                libc::EAGAIN if wait_for_room(fd) => {}
                error => return Err(error),
            },
        }
    }
    Ok(())
}

fn wait_for_room(fd: c_int) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one record, which lives here. Cancellation is off.
    unsafe { libc::poll(&raw mut poll, 1, PATIENCE) == 1 }
}
