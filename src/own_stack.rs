//! The stack of the thread that asks.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;

thread_local! {
    /// Empty until it has been asked for. Const and without Drop: usable at thread exit.
    static BOUNDS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// This thread's stack as the C library made it. Empty where that is not known. A handler or a coroutine may run on
/// another: whoever reads by this looks first whether its own frame lies within.
#[inline]
pub fn bounds() -> Range<usize> {
    match BOUNDS.get() {
        (0, _) => ask(),
        (start, end) => start..end,
    }
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
    BOUNDS.set(known);
    known.0..known.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_has_another() {
        let ours = bounds();
        let theirs = std::thread::spawn(bounds).join().expect("a thread");
        assert!(!ours.contains(&theirs.start) && !theirs.contains(&ours.start));
    }
}
