//! The lock on the hot path: held for some dozen nanoseconds, and most often by nobody else.
//!
//! Taking it is one atomic exchange and giving it back a plain store, where a queueing lock needs two exchanges. In a
//! process with a single thread it needs none: glibc says so, and leaves out its own atomic operations then.
//!
//! Nobody waits for it without end. A handler that leaves a call of ours by siglongjmp, or a thread that is killed in one,
//! leaves a lock taken for good; the program must go on, so whoever waits too long panics, which the border catches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Far longer than anything that is done under such a lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a waiter looks before it lets others run.
const LOOKS: u32 = 100;

/// How often it lets others run before it sleeps.
const TURNS: u32 = 20;

/// A value with such a lock. `lock()` panics after five seconds.
pub type Mutex<T> = lock_api::Mutex<Brief, T>;

/// What holding it gives.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, Brief, T>;

/// The lock itself.
pub struct Brief(AtomicBool);

// SAFETY: only the one whose exchange (or, alone in its process, whose store) turned the word from false to true has the
// lock, and only `unlock` turns it back.
unsafe impl lock_api::RawMutex for Brief {
    const INIT: Brief = Brief(AtomicBool::new(false));

    type GuardMarker = lock_api::GuardSend;

    #[inline]
    fn lock(&self) {
        if !self.try_lock() {
            self.wait();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        if self.0.load(Ordering::Relaxed) {
            return false;
        }
        if is_single_threaded() {
            self.0.store(true, Ordering::Relaxed);
            return true;
        }
        !self.0.swap(true, Ordering::Acquire)
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Brief {
    #[cold]
    fn wait(&self) {
        let since = Instant::now();
        let mut round = 0;
        while !lock_api::RawMutex::try_lock(self) {
            match round {
                0..LOOKS => std::hint::spin_loop(),
                LOOKS.. if round < LOOKS + TURNS => std::thread::yield_now(),
                _ => doze(),
            }
            round = (round + 1).min(LOOKS + TURNS);
            assert!(since.elapsed() < PATIENCE, "a lock was left taken by a call that never ended");
        }
    }
}

/// Sleeps for some microseconds. By a system call of our own: nanosleep(2) of the C library ends a thread that is being
/// cancelled.
fn doze() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };
    // SAFETY: reads `time` and writes nothing.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
}

/// Whether this thread is the only one of its process: `<sys/single_threaded.h>`. Only the thread itself can make that
/// untrue, and not while it holds a lock of ours.
#[inline]
pub fn is_single_threaded() -> bool {
    unsafe extern "C" {
        static __libc_single_threaded: libc::c_char;
    }
    // SAFETY: glibc's own variable, which only changes where this thread starts another or waits for its end.
    unsafe { (&raw const __libc_single_threaded).read_volatile() != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_meet_under_it() {
        const EACH: u64 = 50_000;
        let counter = Mutex::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let mut both = counter.lock();
                        both.0 += 1;
                        std::hint::black_box(&mut *both);
                        both.1 = both.0;
                    }
                });
            }
        });
        assert_eq!(*counter.lock(), (4 * EACH, 4 * EACH));
    }

    #[test]
    fn a_lock_that_is_taken_is_waited_for() {
        let lock = Mutex::new(1);
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| *lock.lock());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiter.is_finished());
            drop(held);
            assert_eq!(waiter.join().expect("not a panic"), 1);
        });
    }

    #[test]
    fn one_that_is_never_given_back_is_not_waited_for_forever() {
        let lock = Mutex::new(());
        std::mem::forget(lock.lock());
        let waited = std::thread::scope(|scope| scope.spawn(|| drop(lock.lock())).join());
        assert!(waited.is_err());
    }
}
