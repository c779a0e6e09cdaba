//! Stacks that are taken again: a loop takes the same one over and over.
//!
//! A walk follows a chain of words on the stack: return addresses, and the saved frame pointers by which some frames are
//! left. Where a call enters us at the same place with the same stack pointer as before, and those words are what they
//! were, it is the same stack: to compare them takes a tenth of the time of a walk.

use std::sync::atomic::{AtomicUsize, Ordering};

use verbsguard_core::site::Site;
use verbsguard_lock::Mutex;

use crate::counter::{LANES, lane};

/// Words of one walk: enough for 16 frames that all have frame pointers, and some more.
const WORDS: usize = 40;

/// Pairs of walks that a lane of threads remembers: a power of two. Two calls in turn, of which a loop consists, need two.
const PAIRS: usize = 4;

/// What a walk has read, in its order.
pub(super) struct Trail {
    words: [(usize, usize); WORDS],
    len: usize,
    lowest: usize,
    highest: usize,
    /// It went by the frame pointer that it began with, too.
    by_register: bool,
    /// It depends on something else, or on more words.
    is_lost: bool,
}

impl Trail {
    /// Nothing was read yet.
    pub(super) const fn new() -> Trail {
        Trail { words: [(0, 0); WORDS], len: 0, lowest: usize::MAX, highest: 0, by_register: false, is_lost: false }
    }

    /// Becomes the same as another.
    fn copy(&mut self, other: &Trail) {
        let Trail { ref words, len, lowest, highest, by_register, is_lost } = *other;
        self.words[..len].copy_from_slice(&words[..len]);
        (self.len, self.lowest, self.highest) = (len, lowest, highest);
        (self.by_register, self.is_lost) = (by_register, is_lost);
    }

    /// The word at an address of the stack was read.
    #[inline]
    pub(super) fn read(&mut self, at: usize, word: usize) {
        match self.words.get_mut(self.len) {
            Some(free) => *free = (at, word),
            None => self.is_lost = true,
        }
        self.len += 1;
        self.lowest = self.lowest.min(at);
        self.highest = self.highest.max(at);
    }

    /// Whether all that was read lies on this thread's stack, above the stack pointer. Another thread's walk may have
    /// begun at the same place of a stack that was there before.
    #[inline(always)]
    fn is_within(&self, stack_pointer: usize) -> bool {
        let stack = crate::own_stack::bounds();
        stack.start <= stack_pointer && stack_pointer < self.lowest && self.highest < stack.end
    }

    /// The walk went by the frame pointer that it began with.
    pub(super) fn go_by_register(&mut self) {
        self.by_register = true;
    }

    /// The walk went by what cannot be compared.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }
}

/// Where a walk begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// The code that the first frame is in.
    pub(super) address: usize,
    pub(super) stack_pointer: usize,
    pub(super) frame_pointer: usize,
}

/// A walk, and what it found.
struct Walk {
    start: Start,
    site: Site,
    trail: Trail,
}

/// Two walks, of which the older one goes first.
struct Pair {
    walks: [Mutex<Walk>; 2],
    older: AtomicUsize,
}

impl Pair {
    const fn new() -> Pair {
        Pair { walks: [const { Mutex::new(Walk::NONE) }; 2], older: AtomicUsize::new(0) }
    }
}

/// A lane's walks share no cache line with another lane's.
#[repr(align(64))]
struct Lane([Pair; PAIRS]);

static KNOWN: [Lane; LANES] = [const { Lane([const { Pair::new() }; PAIRS]) }; LANES];

/// Where a walk from here may be.
#[inline]
fn of(start: &Start) -> &'static Pair {
    let mixed = (start.address ^ start.stack_pointer << 8).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &KNOWN[lane()].0[mixed >> (usize::BITS - PAIRS.trailing_zeros())]
}

/// The stack that begins here, if it is known.
#[inline]
pub(super) fn find(start: &Start) -> Option<Site> {
    of(start).walks.iter().find_map(|walk| {
        let walk = walk.try_lock()?;
        walk.is_of(start).then_some(walk.site)
    })
}

/// Remembers what a walk from here found.
pub(super) fn keep(start: &Start, trail: &Trail, site: Site) {
    if trail.is_lost || trail.len == 0 {
        return;
    }
    let Pair { walks, older } = of(start);
    let place = older.load(Ordering::Relaxed) % walks.len();
    older.store(place + 1, Ordering::Relaxed);
    if let Some(mut walk) = walks[place].try_lock() {
        (walk.start, walk.site) = (*start, site);
        walk.trail.copy(trail);
    }
}

impl Walk {
    const NONE: Walk =
        Walk { start: Start { address: 0, stack_pointer: 0, frame_pointer: 0 }, trail: Trail::new(), site: Site::NONE };

    #[inline(always)]
    fn is_of(&self, start: &Start) -> bool {
        let Trail { words, len, by_register, .. } = &self.trail;
        (self.start.address, self.start.stack_pointer) == (start.address, start.stack_pointer)
            && (!by_register || self.start.frame_pointer == start.frame_pointer)
            && self.trail.is_within(start.stack_pointer)
            && words[..(*len).min(WORDS)].iter().all(|(at, word)| {
                // SAFETY: between this thread's stack pointer and the end of its stack, and aligned.
                (unsafe { *(*at as *const usize) }) == *word
            })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::cell::Cell;
    use std::hint::black_box;

    use super::super::{capture, unwind::Entry};
    use super::*;

    #[inline(never)]
    fn enter() -> (Site, Option<Site>) {
        let entry = Entry::now();
        let before = entry.known();
        let site = capture(&Cell::new(entry));
        black_box(&entry);
        assert_eq!(entry.known(), Some(site), "kept, unless this test cannot be walked by rules");
        (site, before)
    }

    /// Two functions that call with the same stack pointer.
    #[inline(never)]
    fn one() -> (Site, Option<Site>) {
        let answer = enter();
        black_box(1);
        answer
    }

    #[inline(never)]
    fn other() -> (Site, Option<Site>) {
        let answer = enter();
        black_box(2);
        answer
    }

    #[inline(never)]
    fn through(which: fn() -> (Site, Option<Site>)) -> (Site, Option<Site>) {
        let answer = black_box(which)();
        black_box(3);
        answer
    }

    #[test]
    fn a_stack_is_known_again_and_no_other_is_taken_for_it() {
        let all = [one, one, other, other, one].map(through);
        let sites = all.map(|(site, _)| site);
        assert_eq!(sites[0], sites[1]);
        assert_eq!(sites[2], sites[3]);
        assert_eq!(sites[0], sites[4]);
        assert_ne!(sites[0], sites[2]);
        let known = all.map(|(_, before)| before);
        assert_eq!(known[1], Some(sites[0]));
        assert_eq!(known[3], Some(sites[2]));
        // The stack pointer is the same, the way back is not. Two such are remembered.
        assert_eq!((known[2], known[4]), (None, Some(sites[0])));
    }
}
