//! Is this call made from inside another call of ours, on this thread?
//!
//! The real libraries call their own exports through the PLT (reg_mr calls reg_mr_iova2, libmlx5's steering code calls
//! alloc_pd), and a signal handler may call verbs in the middle of our own phases. Both must only be forwarded.
//!
//! A counter would stick when a handler leaves a call by siglongjmp. So the outermost call marks its own stack frame,
//! and the mark holds only while that frame can still be there: it lies further up the stack and still holds its token.

use std::cell::Cell;
use std::hint::black_box;

use crate::thread;

/// A call's own mark, on its own stack. It has no Drop: pthread_exit and cancellation may unwind through it.
pub struct Frame {
    token: Cell<usize>,
    outer: Cell<usize>,
}

const SEAL: usize = 0x5eed_ab1e_c0de_d00d;

impl Frame {
    pub const fn new() -> Frame {
        Frame { token: Cell::new(0), outer: Cell::new(0) }
    }

    fn address(&self) -> usize {
        black_box(std::ptr::from_ref(self)) as usize
    }

    /// Whether a call further up this thread's stack is still under way.
    pub fn is_nested(&self) -> bool {
        let outermost = thread::this().outermost.get();
        if outermost == 0 || self.address() >= outermost {
            return false;
        }
        // SAFETY: the mark lies above this frame on this thread's own stack, which is mapped; its owner may be gone,
        // in which case any value may be read, and only the token of a live mark is accepted.
        let token = unsafe { std::ptr::read_volatile(outermost as *const usize) };
        token == outermost ^ SEAL
    }

    /// Marks this frame as the outermost call.
    pub fn enter(&self) {
        self.token.set(self.address() ^ SEAL);
        self.outer.set(thread::this().outermost.replace(self.address()));
    }

    /// Takes the mark back.
    pub fn leave(&self) {
        self.token.set(0);
        black_box(self);
        // What was marked before us is only worth keeping if it was a live call (a handler on another stack).
        thread::this().outermost.set(self.outer.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn deeper() -> bool {
        Frame::new().is_nested()
    }

    #[test]
    fn nested_only_while_the_outer_call_lasts() {
        assert!(!deeper());
        let outer = Frame::new();
        outer.enter();
        assert!(deeper());
        outer.leave();
        assert!(!deeper());
    }

    #[inline(never)]
    fn abandoned() {
        let frame = Frame::new();
        frame.enter();
        black_box(&frame);
    }

    #[test]
    fn a_call_left_by_longjmp_does_not_stick() {
        abandoned();
        assert!(!Frame::new().is_nested() || deeper(), "shallower or overwritten: not nested");
        let after = Frame::new();
        after.enter();
        assert!(deeper());
        after.leave();
    }
}
