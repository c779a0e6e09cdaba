//! How often each function was called: counted by every thread in a lane of its own.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::thread;

/// Lanes: a power of two. With more threads some share one.
pub const LANES: usize = 8;

/// More functions than are interposed.
const FUNCTIONS: usize = 512;

/// A lane's counters share no cache line with another lane's.
#[repr(align(64))]
struct Lane([AtomicU64; FUNCTIONS]);

static LANE: [Lane; LANES] = [const { Lane([const { AtomicU64::new(0) }; FUNCTIONS]) }; LANES];

/// The count of one function, by its number.
#[derive(Clone, Copy)]
pub struct Counter(pub usize);

impl Counter {
    /// One more.
    #[inline]
    pub fn add(self) {
        let Some(counter) = LANE[lane()].0.get(self.0) else { return };
        if verbsguard_lock::is_single_threaded() {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many there were.
    pub fn get(self) -> u64 {
        LANE.iter().filter_map(|lane| lane.0.get(self.0)).map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

/// This thread's lane.
#[inline]
pub fn lane() -> usize {
    let mine = thread::this().lane.get();
    (if mine == 0 { first_lane() } else { mine }) as usize % LANES
}

#[cold]
fn first_lane() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let mine = NEXT.fetch_add(1, Ordering::Relaxed).max(1);
    thread::this().lane.set(mine);
    mine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_of_any_thread_is_missed() {
        const COUNTER: Counter = Counter(FUNCTIONS - 1);
        std::thread::scope(|scope| {
            for _ in 0..2 * LANES {
                scope.spawn(|| (0..10_000).for_each(|_| COUNTER.add()));
            }
        });
        assert_eq!(COUNTER.get(), 2 * LANES as u64 * 10_000);
        assert_eq!(Counter(FUNCTIONS - 2).get(), 0);
    }

    #[test]
    fn there_is_room_for_every_function() {
        let exported = include_str!("abi/verbsguard.map").matches(';').count();
        assert!(exported > 20 && 2 * exported < FUNCTIONS, "{exported}");
    }
}
