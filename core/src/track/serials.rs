//! Numbers for references and children: unique in a process, and in the order of birth for each thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many are taken at once where threads would meet otherwise.
const BLOCK: u64 = 256;

/// A row of numbers.
pub(super) struct Serials {
    /// No other row of this process has the same.
    row: u64,
    next: AtomicU64,
}

thread_local! {
    /// Of which row this thread has numbers left, the next of them, and where they end. Without Drop: usable at thread exit.
    static LEFT: Cell<(u64, u64, u64)> = const { Cell::new((0, 0, 0)) };
}

impl Serials {
    /// Numbers from here on.
    pub(super) fn from(next: u64) -> Self {
        static ROWS: AtomicU64 = AtomicU64::new(1);
        Serials { row: ROWS.fetch_add(1, Ordering::Relaxed), next: AtomicU64::new(next) }
    }

    /// No number as high as this was given.
    pub(super) fn end(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// A new number.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        if verbsguard_lock::is_single_threaded() {
            let serial = self.next.load(Ordering::Relaxed);
            self.next.store(serial + 1, Ordering::Relaxed);
            return serial;
        }
        let (row, next, end) = LEFT.get();
        let (serial, end) = if row == self.row && next < end {
            (next, end)
        } else {
            let first = self.next.fetch_add(BLOCK, Ordering::Relaxed);
            (first, first + BLOCK)
        };
        LEFT.set((self.row, serial + 1, end));
        serial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_rise_for_each_thread() {
        let (one, other) = (Serials::from(1), Serials::from(1));
        let take = || (0..1000).map(|_| (one.next(), other.next())).collect::<Vec<_>>();
        let threads: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            running.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        assert!(threads.iter().all(|taken| taken.is_sorted()));
        for which in [|pair: &(u64, u64)| pair.0, |pair: &(u64, u64)| pair.1] {
            let mut all: Vec<u64> = threads.iter().flatten().map(which).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 4000);
        }
        assert!(threads.iter().flatten().all(|pair| pair.0 < one.end()));
    }
}
