//! What the guard keeps for each thread: one block, so that a call looks its address up once or twice.

use std::cell::Cell;
use std::ffi::c_int;

use verbsguard_core::track::BirthToken;

use crate::stacks::Entry;

/// The block. All zero at first; without Drop, so that it can be used at thread exit.
#[repr(C, align(64))]
pub struct Thread {
    /// Address of the mark of the call that is under way, 0 for none ([`crate::depth`]).
    pub outermost: Cell<usize>,
    /// Where the program entered us in the present call.
    pub entry: Cell<Entry>,
    /// The stack of the present call, once it has been asked for: a site above bit 0, which says so.
    pub site: Cell<u64>,
    /// The time of the present call, 0 until it has been asked for.
    pub time: Cell<u64>,
    /// How cancellation stood before we held it off, plus one; 0 where we do not ([`crate::call::shield`]).
    pub shield: Cell<c_int>,
    /// Which lane of the call counters this thread uses, plus one; 0 until it has one.
    pub lane: Cell<u32>,
    /// This thread's stack: start, which is 0 until it has been asked for, and end.
    pub stack: Cell<(usize, usize)>,
    /// The open context that this thread named last, and the version of the contexts that had it.
    pub context: Cell<(u64, BirthToken)>,
    /// A page that was found readable, and at which tick of the clock.
    pub readable: Cell<(usize, u64)>,
    /// The same for writable.
    pub writable: Cell<(usize, u64)>,
}

impl Thread {
    /// Another call begins, or none is under way any more.
    #[inline(always)]
    pub fn begin(&self, entry: Entry) {
        self.entry.set(entry);
        self.site.set(0);
        self.time.set(0);
    }
}

/// This thread's block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn this() -> &'static Thread {
    let block: *const Thread;
    // SAFETY: the address of a thread-local symbol by the initial-exec model: what the thread pointer says, plus an offset
    // that the loader has written into our own table.
    unsafe {
        std::arch::asm!(
            "mov {block}, qword ptr fs:[0]",
            "add {block}, qword ptr [rip + verbsguard_thread@GOTTPOFF]",
            block = out(reg) block,
            options(pure, readonly, nostack)
        );
    }
    // SAFETY: this thread's own copy of the symbol below: as big and as aligned, zero at first, and alive as long as the
    // thread, which alone can hold the reference (a block of Cells is not Sync).
    unsafe { &*block }
}

// The compiler can only be told by an unstable flag that a thread-local of ours is always in the first block of the thread
// (we are loaded at start), and otherwise asks the loader for its address each time.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .tbss.verbsguard_thread,\"awT\",@nobits",
    ".hidden verbsguard_thread",
    ".globl verbsguard_thread",
    ".type verbsguard_thread, @object",
    ".size verbsguard_thread, {size}",
    ".p2align 6",
    "verbsguard_thread:",
    ".zero {size}",
    ".popsection",
    size = const size_of::<Thread>(),
);

/// This thread's block.
#[cfg(not(target_arch = "x86_64"))]
pub fn this() -> &'static Thread {
    thread_local! {
        // SAFETY: numbers and pointers in Cells: all of them may be zero.
        static BLOCK: Thread = const { unsafe { std::mem::zeroed() } };
    }
    BLOCK.with(|block| {
        // SAFETY: it has no Drop and lives as long as the thread, which alone can hold the reference.
        unsafe { &*std::ptr::from_ref(block) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_block_of_its_own_that_begins_empty() {
        let look = || {
            let block = this();
            assert_eq!((block.outermost.get(), block.time.get(), block.context.get().0), (0, 0, 0));
            block.writable.set((7, 8));
            assert_eq!(this().writable.get(), (7, 8));
            std::ptr::from_ref(block).addr()
        };
        std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(look), scope.spawn(look));
            let both = (one.join().expect("a thread"), other.join().expect("a thread"));
            assert_eq!(both.0 % align_of::<Thread>(), 0);
            assert_ne!(both.0, std::ptr::from_ref(this()).addr());
        });
    }
}
