//! Shared memory as a process leaves it that is killed.

use std::cell::{Cell, RefCell};

use verbsguard_core::ledger::log::{Header, Memory};

/// Memory whose user is killed after a number of operations: what he does from then on does not happen.
pub struct Mortal {
    pub words: RefCell<Vec<u64>>,
    left: Cell<usize>,
}

struct Killed;

impl Mortal {
    /// An empty log.
    pub fn new(header: &Header) -> Self {
        let mut words = header.to_slot(false).to_vec();
        words.resize(header.words(), 0);
        Mortal { words: RefCell::new(words), left: Cell::new(usize::MAX) }
    }

    fn live(&self) {
        match self.left.get() {
            0 => std::panic::resume_unwind(Box::new(Killed)),
            left => self.left.set(left - 1),
        }
    }

    /// Runs a step that may be killed; whether it was not.
    pub fn within<R>(&self, operations: usize, step: impl FnOnce() -> R) -> Option<R> {
        self.left.set(operations);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(step));
        self.left.set(usize::MAX);
        result.ok()
    }
}

impl Memory for Mortal {
    fn words(&self) -> usize {
        self.words.borrow().len()
    }

    fn load(&self, at: usize) -> u64 {
        self.live();
        self.words.borrow()[at]
    }

    fn store(&self, at: usize, value: u64) {
        self.live();
        self.words.borrow_mut()[at] = value;
    }

    fn swap_if(&self, at: usize, old: u64, new: u64) -> bool {
        self.live();
        let mut words = self.words.borrow_mut();
        let same = words[at] == old;
        if same {
            words[at] = new;
        }
        same
    }
}
