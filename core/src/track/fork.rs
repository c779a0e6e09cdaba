//! Across fork: every lock is taken before it, so that the child finds whole tables and can take them over.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{ArcMutexGuard, MutexGuard, RawMutex, RwLockWriteGuard};

use super::inside::Inside;
use super::patience::write;
use super::table::{Shard, Table};
use super::{Contexts, DeviceFile, FileIndex, Me, Record, Thing, Tracker};
use crate::check::Policy;

/// Every lock of a tracker.
pub struct ForkLocks<'a> {
    shards: Vec<MutexGuard<'a, Shard>>,
    contexts: RwLockWriteGuard<'a, Contexts>,
    files: RwLockWriteGuard<'a, Vec<Arc<DeviceFile>>>,
    inside: Vec<ArcMutexGuard<RawMutex, Inside>>,
    serial: u64,
}

/// What a child takes over.
pub struct Inheritance {
    shards: Vec<Shard>,
    contexts: Contexts,
    files: Vec<(Arc<DeviceFile>, Inside)>,
    serial: u64,
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
        let shards = self.table.lock_all();
        let contexts = write(&self.contexts);
        let files = write(&self.files);
        let inside = files.iter().map(|file| file.lock_inside()).collect();
        ForkLocks { shards, contexts, files, inside, serial: self.serial.load(Ordering::Relaxed) }
    }

    /// The same without waiting: in a child that was made without our handlers having run, a lock may be held by a
    /// thread that is not there.
    pub fn try_lock_for_fork(&self) -> Option<ForkLocks<'_>> {
        let shards = self.table.try_lock_all()?;
        let contexts = self.contexts.try_write()?;
        let files = self.files.try_write()?;
        let inside = files.iter().map(|file| file.try_lock_inside()).collect::<Option<Vec<_>>>()?;
        Some(ForkLocks { shards, contexts, files, inside, serial: self.serial.load(Ordering::Relaxed) })
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
        *tracker.files.get_mut() =
            from.files.into_iter().map(|(file, inside)| Arc::new(file.inherited(inside, join(&file)))).collect();
        *tracker.serial.get_mut() = from.serial;
        tracker.mark_inherited();
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
                    file.tell_inherited(reference);
                }
            }
        }
    }

    fn mark_inherited(&self) {
        for context in write(&self.contexts).iter_mut() {
            context.inherited = true;
        }
        for mut shard in self.table.shards() {
            for (_, thing) in shard.iter_mut() {
                if let Thing::Reference(reference) = thing {
                    reference.inherited = true;
                }
            }
        }
    }
}

impl ForkLocks<'_> {
    /// Moves the tables out, in the child. The locks themselves stay taken: see `std::mem::forget` at the caller.
    pub fn take(&mut self) -> Inheritance {
        let files = std::mem::take(&mut *self.files);
        let inside = self.inside.iter_mut().map(|inside| std::mem::take(&mut **inside));
        Inheritance {
            shards: self.shards.iter_mut().map(|shard| std::mem::take(&mut **shard)).collect(),
            contexts: std::mem::take(&mut *self.contexts),
            files: files.into_iter().zip(inside).collect(),
            serial: self.serial,
        }
    }
}
