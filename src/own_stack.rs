//! The stack of the thread that asks.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::thread;

/// This thread's stack as the C library made it, asked for once. Empty where that is not known. A handler or a coroutine may run on
/// another: whoever reads by this looks first whether its own frame lies within.
#[inline]
pub fn bounds() -> Range<usize> {
    match thread::this().stack.get() {
        (0, _) => ask(),
        (start, end) => start..end,
    }
}

/// Whether the whole range is in use on the stack that the caller runs on: mapped, readable and writable.
#[inline]
pub fn has_in_use(address: usize, len: usize) -> bool {
    let stack = bounds();
    let here = std::ptr::from_ref(&stack).addr();
    stack.contains(&here) && here < address && address < stack.end && len <= stack.end - address
}

#[cold]
fn ask() -> Range<usize> {
    let before = crate::call::errno();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are filled before they are read, and destroyed once.
    let answer = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            let answer = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            answer
        } else {
            -1
        }
    };
    crate::call::set_errno(before);
    // Not asked for again where it cannot be known.
    let known = if answer == 0 { (start.addr(), start.addr() + size) } else { (1, 1) };
    thread::this().stack.set(known);
    known.0..known.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_is_on_the_stack_and_nothing_else_is() {
        let local = 7u64;
        let at = std::ptr::from_ref(&local).addr();
        assert!(has_in_use(at, 8));
        assert!(!has_in_use(std::ptr::from_ref(Box::new(7u64).as_ref()).addr(), 8));
        assert!(!has_in_use(at, bounds().end), "past the end");
        assert!(!has_in_use(bounds().start, 8), "not in use yet");
    }

    #[test]
    fn another_thread_has_another() {
        let ours = bounds();
        let theirs = std::thread::spawn(bounds).join().expect("a thread");
        assert!(!ours.contains(&theirs.start) && !theirs.contains(&ours.start));
    }
}
