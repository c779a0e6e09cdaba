//! Across fork: every lock is taken before it, so that the child finds whole tables and can take them over.

use std::sync::Arc;

use parking_lot::RwLockWriteGuard;
use rustc_hash::FxHashMap;
use verbsguard_lock::MutexGuard;

use super::inside::Inside;
use super::patience::{lock, write};
use super::serials::Serials;
use super::table::{Shard, Table};
use super::{Contexts, DeviceFile, FileIndex, Me, Record, Thing, Tracker};
use crate::check::Policy;
use crate::ledger::Generation;

/// The parts of one device file, locked.
type FileLocks<'a> = (&'a DeviceFile, Vec<Option<MutexGuard<'a, Inside>>>);

/// Every lock of a tracker.
pub struct ForkLocks<'a> {
    shards: Vec<MutexGuard<'a, Shard>>,
    contexts: RwLockWriteGuard<'a, Contexts>,
    _adding: parking_lot::MutexGuard<'a, ()>,
    files: Vec<FileLocks<'a>>,
    serials: u64,
}

/// What a child takes over.
pub struct Inheritance {
    shards: Vec<Shard>,
    contexts: Contexts,
    files: Vec<DeviceFile>,
    serials: u64,
}

impl Inheritance {
    /// A descriptor and the device's name for each device file that is open.
    pub fn descriptors(&self) -> Vec<(FileIndex, i32, Arc<str>)> {
        let open = self.contexts.iter().filter(|(_, context)| context.is_open());
        open.map(|(_, context)| (context.file, context.cmd_fd, context.device.clone())).collect()
    }
}

impl Tracker {
    /// Waits for every lock. Released when the answer is dropped, in the parent.
    pub fn lock_for_fork(&self) -> ForkLocks<'_> {
        ForkLocks {
            shards: self.table.lock_all(),
            contexts: write(&self.contexts),
            _adding: lock(&self.adding),
            files: self.files().map(|file| (file, file.parts().lock_all())).collect(),
            serials: self.serials.end(),
        }
    }

    /// The same without waiting: in a child that was made without our handlers having run, a lock may be held by a
    /// thread that is not there.
    pub fn try_lock_for_fork(&self) -> Option<ForkLocks<'_>> {
        Some(ForkLocks {
            shards: self.table.try_lock_all()?,
            contexts: self.contexts.try_write()?,
            _adding: self.adding.try_lock()?,
            files: self.files().map(|file| Some((file, file.parts().try_lock_all()?))).collect::<Option<_>>()?,
            serials: self.serials.end(),
        })
    }

    /// A child's tracker: what the parent knew, marked as inherited. `join` gives a device file's shared
    /// record as a holder of the child's own.
    pub fn inherit(
        policy: Policy,
        me: Me,
        from: Inheritance,
        join: impl Fn(&DeviceFile) -> Option<Box<dyn Record>>,
    ) -> Tracker {
        let mut tracker = Tracker::new(policy, me);
        tracker.table = Table::of(from.shards);
        *tracker.contexts.get_mut() = from.contexts;
        tracker.files = from.files.into_iter().collect();
        tracker.serials = Serials::from(from.serials);
        for file in tracker.files().filter(|file| file.is_shared()) {
            if let Some(record) = join(file) {
                file.join(record);
            }
        }
        tracker.mark_inherited();
        tracker.keep_inherited();
        tracker.tell_inherited();
        tracker
    }

    /// The child holds what it inherited: others must know.
    fn tell_inherited(&self) {
        for shard in self.table.shards() {
            for (_, thing) in shard.iter() {
                if let Thing::Reference(reference) = thing
                    && reference.is_live()
                    && let Some(file) = self.file(reference.file).filter(|file| file.is_shared())
                {
                    file.tell_acquired(&reference);
                }
            }
        }
    }

    fn keep_inherited(&self) {
        let mut held = FxHashMap::<(FileIndex, Generation), u32>::default();
        for mut shard in self.table.shards() {
            shard.each_reference(|_, reference| {
                if let Some(generation) = reference.generation.filter(|_| reference.is_live()) {
                    *held.entry((reference.file, generation)).or_default() += 1;
                }
            });
        }
        for file in self.files() {
            file.keep_inherited(|generation| held.get(&(file.index, generation)).copied().unwrap_or(0));
        }
    }

    fn mark_inherited(&self) {
        for context in write(&self.contexts).iter_mut() {
            context.inherited = true;
        }
        for mut shard in self.table.shards() {
            shard.each_reference(|_, reference| reference.inherited = true);
        }
    }
}

impl ForkLocks<'_> {
    /// Moves the tables out, in the child. The locks themselves stay taken: see `std::mem::forget` at the caller.
    pub fn take(&mut self) -> Inheritance {
        let taken =
            |inside: &mut Option<MutexGuard<'_, Inside>>| inside.as_mut().map(|inside| std::mem::take(&mut **inside));
        let files = self.files.iter_mut().map(|(file, parts)| file.heir(parts.iter_mut().map(taken).collect()));
        Inheritance {
            shards: self.shards.iter_mut().map(|shard| std::mem::take(&mut **shard)).collect(),
            contexts: std::mem::take(&mut *self.contexts),
            files: files.collect(),
            serials: self.serials,
        }
    }
}
