//! The life of the process we are loaded into: its start, its forks, its end.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::call::own;
use crate::guard::{self, Guard};

/// Runs when the library is loaded, in every program: registers and looks, opens nothing, allocates nothing. Other
/// libraries' constructors may have called us before.
// Beside the C compiler's own start-up code: what lies together is mapped by one page fault.
#[unsafe(link_section = ".text.startup")]
extern "C" fn start() {
    crate::log::remember_stderr();
    // SAFETY: the handlers live as long as the library, which is never unloaded (-z nodelete).
    unsafe {
        // on_exit: after all handlers of the program and all destructors, and with the exit status.
        on_exit(at_exit, std::ptr::null_mut());
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

unsafe extern "C" {
    /// glibc's on_exit(3).
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The last thing before the process is gone, with `status` what it exits with.
#[unsafe(link_section = ".text.startup")]
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let Some(guard) = guard::existing() else { return };
    if let Ok(Some(status)) = own(|| guard.at_exit(status)) {
        // SAFETY: exit within an on_exit handler goes on with the handlers that are left, and the new status.
        unsafe { libc::exit(status) }
    }
}

/// A page that the kernel zeroes in every child, however it was made (fork, clone without CLONE_VM). Null until this
/// process makes a guard.
static WIPED_ON_FORK: AtomicPtr<Wiped> = AtomicPtr::new(std::ptr::null_mut());

struct Wiped {
    /// [`PARENT`], but in a child that has not been asked.
    word: AtomicU32,
    /// The guard, where calls may go to it without further questions.
    ready: AtomicPtr<Guard>,
}

const PARENT: u32 = 1;

/// To be called before the guard's first lock is taken: a child then never finds it locked without being known as one.
pub fn watch_for_forks() {
    if !WIPED_ON_FORK.load(Ordering::Acquire).is_null() {
        return;
    }
    let len = crate::peek::page_size();
    // SAFETY: a new private page of our own; the advice concerns that page only.
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if page == libc::MAP_FAILED || libc::madvise(page, len, libc::MADV_WIPEONFORK) != 0 {
            return;
        }
        page.cast::<Wiped>()
    };
    // SAFETY: the page is mapped for good, big enough, and zero: valid for both.
    unsafe { &*page }.word.store(PARENT, Ordering::Relaxed);
    let none = std::ptr::null_mut();
    if WIPED_ON_FORK.compare_exchange(none, page, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: mapped above, and nobody else knows it: another thread was faster.
        unsafe { libc::munmap(page.cast(), len) };
    }
}

#[inline(always)]
fn wiped() -> Option<&'static Wiped> {
    // SAFETY: either null or our page, mapped for good.
    unsafe { WIPED_ON_FORK.load(Ordering::Acquire).as_ref() }
}

/// Whether this process was forked off since this was last asked, and then says no until the next fork.
pub fn is_new_child() -> bool {
    let word = wiped().map(|page| &page.word);
    word.is_some_and(|word| word.load(Ordering::Relaxed) != PARENT && word.swap(PARENT, Ordering::Relaxed) != PARENT)
}

/// The guard that was said to be ready, by this very process.
#[inline(always)]
pub fn ready() -> Option<&'static Guard> {
    // SAFETY: null, or a guard, which is never freed.
    unsafe { wiped()?.ready.load(Ordering::Acquire).as_ref() }
}

/// Calls may go to this guard; to none without further questions where it is null.
pub fn set_ready(guard: *const Guard) {
    if let Some(page) = wiped() {
        page.ready.store(guard.cast_mut(), Ordering::SeqCst);
    }
}

extern "C" fn before_fork() {
    // Without the page there is no guard and none in the making, and nothing to lock.
    if !WIPED_ON_FORK.load(Ordering::Acquire).is_null() {
        let _ = own(guard::lock_for_fork);
    }
}

extern "C" fn after_fork_in_parent() {
    let _ = own(guard::unlock_after_fork);
}

/// Nothing is unlocked here: threads that waited for these locks are not in the child, and waking them could hang on
/// state that only they could have put right. The child takes its tables over when it first calls verbs.
extern "C" fn after_fork_in_child() {}
