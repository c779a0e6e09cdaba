//! The insides of a device file, in parts that threads lock one by one.
//!
//! A process that sees only itself keeps the objects of some handles in one part and those of others in another, so that
//! threads at work on different objects do not wait for each other. A ledger is one order of events: there it is one part.

use once_cell::race::OnceBox;
use verbsguard_lock::{Mutex, MutexGuard};

use super::Record;
use super::inside::Inside;
use super::record::Alone;

/// How many parts a device file of this process alone has: a power of two.
const PARTS: usize = 16;

/// One part, alone in its cache lines.
#[repr(align(128))]
struct Part(Mutex<Inside>);

impl Part {
    fn new(inside: Inside) -> Box<Part> {
        Box::new(Part(Mutex::new(inside)))
    }
}

/// The parts; each is made when it is first needed.
pub(super) struct Parts(Box<[OnceBox<Part>]>);

impl Parts {
    /// Of a device file that only this process tells of.
    pub(super) fn alone() -> Self {
        Parts((0..PARTS).map(|_| OnceBox::new()).collect())
    }

    /// Of one with this record.
    pub(super) fn shared(record: Box<dyn Record>) -> Self {
        Parts::of(vec![Some(Inside::new(record))])
    }

    /// Of what others had in them.
    pub(super) fn of(insides: Vec<Option<Inside>>) -> Self {
        let part = |inside: Option<Inside>| {
            let cell = OnceBox::new();
            if let Some(inside) = inside {
                // A cell that was just made is empty.
                let _ = cell.set(Part::new(inside));
            }
            cell
        };
        Parts(insides.into_iter().map(part).collect())
    }

    /// Whether all is in one part.
    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Locks the part in which a handle or a generation with this number is.
    #[inline]
    pub(super) fn lock(&self, number: u64) -> MutexGuard<'_, Inside> {
        let (at, parts) = (number as usize & (self.0.len() - 1), self.0.len());
        self.0[at].get_or_init(|| Part::new(Inside::new(Box::new(Alone::part(at, parts))))).0.lock()
    }

    fn made(&self) -> impl Iterator<Item = Option<&Part>> {
        self.0.iter().map(OnceBox::get)
    }

    /// The parts that there are, one after the other.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Inside>> {
        self.made().flatten().map(|part| part.0.lock())
    }

    /// All parts locked at once, for fork.
    pub(super) fn lock_all(&self) -> Vec<Option<MutexGuard<'_, Inside>>> {
        self.made().map(|part| part.map(|part| part.0.lock())).collect()
    }

    /// The same without waiting.
    pub(super) fn try_lock_all(&self) -> Option<Vec<Option<MutexGuard<'_, Inside>>>> {
        self.made().map(|part| part.map_or(Some(None), |part| part.0.try_lock().map(Some))).collect()
    }
}
