//! Is this call made from inside another call of ours, on this thread?
//!
//! The real libraries call their own exports through the PLT (reg_mr calls reg_mr_iova2, libmlx5's steering code calls
//! alloc_pd), and a signal handler may call verbs in the middle of our own phases. Both must only be forwarded.
//!
//! A counter would stick when a handler leaves a call by siglongjmp. So the outermost call marks its own stack frame,
//! and the mark holds only while that frame can still be there: it lies further up the stack and still holds its token.

use std::cell::Cell;
use std::mem::MaybeUninit;

use crate::thread::Thread;

/// Bytes of stack between a call's mark and the end of its frame. A call that was left by siglongjmp leaves its mark
/// behind; the next call, from about the same depth, then ends above that mark, and is not taken for a nested one.
const DISTANCE: usize = 1024;

/// A call's own mark, on its own stack. It has no Drop: pthread_exit and cancellation may unwind through it.
#[repr(C)]
pub struct Frame {
    token: Cell<MaybeUninit<usize>>,
    outer: Cell<usize>,
    /// Never written.
    distance: MaybeUninit<[u8; DISTANCE]>,
}

const SEAL: usize = 0x5eed_ab1e_c0de_d00d;

impl Frame {
    #[inline(always)]
    pub const fn new() -> Frame {
        Frame { token: Cell::new(MaybeUninit::uninit()), outer: Cell::new(0), distance: MaybeUninit::uninit() }
    }

    #[inline(always)]
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether a call further up this thread's stack is still under way.
    #[inline(always)]
    pub fn is_nested(&self, thread: &Thread) -> bool {
        let outermost = thread.outermost.get();
        outermost != 0 && self.is_below(outermost)
    }

    #[cold]
    fn is_below(&self, outermost: usize) -> bool {
        if self.address() + size_of::<Frame>() > outermost {
            return false;
        }
        // SAFETY: the mark lies above this frame on this thread's own stack, which is mapped; its owner may be gone,
        // in which case any value may be read, and only the token of a live mark is accepted.
        let token = unsafe { std::ptr::read_volatile(outermost as *const usize) };
        token == outermost ^ SEAL
    }

    /// Marks this frame as the outermost call.
    #[inline(always)]
    pub fn enter(&self, thread: &Thread) {
        self.set_token(self.address() ^ SEAL);
        self.outer.set(thread.outermost.replace(self.address()));
    }

    /// Takes the mark back.
    #[inline(always)]
    pub fn leave(&self, thread: &Thread) {
        self.set_token(0);
        // What was marked before us is only worth keeping if it was a live call (a handler on another stack).
        thread.outermost.set(self.outer.get());
    }

    /// Others look at it, through the address alone.
    #[inline(always)]
    fn set_token(&self, token: usize) {
        // SAFETY: our own cell.
        unsafe { std::ptr::write_volatile(self.token.as_ptr().cast(), token) };
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::thread::this;

    #[inline(never)]
    fn deeper() -> bool {
        Frame::new().is_nested(this())
    }

    #[test]
    fn nested_only_while_the_outer_call_lasts() {
        assert!(!deeper());
        let outer = Frame::new();
        outer.enter(this());
        assert!(deeper());
        outer.leave(this());
        assert!(!deeper());
    }

    #[inline(never)]
    fn abandoned() {
        let frame = Frame::new();
        frame.enter(this());
        black_box(&frame);
    }

    #[test]
    fn a_call_left_by_longjmp_does_not_stick() {
        abandoned();
        assert!(!Frame::new().is_nested(this()) || deeper(), "shallower or overwritten: not nested");
        let after = Frame::new();
        after.enter(this());
        assert!(deeper());
        after.leave(this());
    }
}
