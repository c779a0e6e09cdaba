//! A device file as this process sees it: the kernel objects in it, and who refers to them.
//!
//! Its state is the fold of its events. Where a ledger is at hand they go through that, so that all processes of the
//! device file fold the same ones in the same order; otherwise this process folds its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use parking_lot::{ArcMutexGuard, Mutex, MutexGuard, RawMutex};

use super::inside::Inside;
use super::patience::lock;
use super::{FileIndex, Mark, Origin, Record, Reference};
use crate::check::errno;
use crate::ledger::{self, ChildKind, Event, FileId, Generation, Handle, HolderId, How, Kind, Serial, Stamp};
use crate::site::Site;

/// One device file.
pub struct DeviceFile {
    /// Its place in the tracker's list.
    pub index: FileIndex,
    /// The name in reports: short and stable while the file lives.
    pub label: Arc<str>,
    /// Its identity, where that could be had.
    pub id: Option<FileId>,
    /// Contexts of this process that are open on it.
    pub open_contexts: AtomicU32,
    /// A descriptor of it that a context of this process has, -1 for none.
    descriptor: AtomicI32,
    gone: AtomicBool,
    pub(super) inside: Arc<Mutex<Inside>>,
}

impl DeviceFile {
    /// A device file of which this process knows what `record` tells.
    pub fn new(index: FileIndex, label: Arc<str>, id: Option<FileId>, record: Box<dyn Record>) -> Self {
        DeviceFile {
            index,
            label,
            id,
            open_contexts: AtomicU32::new(0),
            descriptor: AtomicI32::new(-1),
            gone: AtomicBool::new(false),
            inside: Arc::new(Mutex::new(Inside::new(record))),
        }
    }

    /// Locks what may change, for fork.
    pub(super) fn lock_inside(&self) -> ArcMutexGuard<RawMutex, Inside> {
        self.inside.lock_arc()
    }

    /// The same without waiting.
    pub(super) fn try_lock_inside(&self) -> Option<ArcMutexGuard<RawMutex, Inside>> {
        self.inside.try_lock_arc()
    }

    /// The same device file in a forked child, which is a holder of its own and joins with `record` where others can
    /// know of it.
    pub(super) fn inherited(&self, mut inside: Inside, record: Option<Box<dyn Record>>) -> DeviceFile {
        if let Some(mut record) = record {
            inside.record.state_mut().hand_over(record.state_mut());
            // The parent's record is left as it is: it is the parent's to write in.
            std::mem::forget(std::mem::replace(&mut inside.record, record));
        }
        DeviceFile {
            index: self.index,
            label: self.label.clone(),
            id: self.id,
            open_contexts: AtomicU32::new(self.open_contexts.load(Ordering::Relaxed)),
            descriptor: AtomicI32::new(self.descriptor.load(Ordering::Relaxed)),
            gone: AtomicBool::new(self.is_gone()),
            inside: Arc::new(Mutex::new(inside)),
        }
    }

    /// Whether a context of this process is open on it.
    pub fn has_open_contexts(&self) -> bool {
        self.open_contexts.load(Ordering::Relaxed) > 0
    }

    /// A descriptor of it that a context of this process has.
    pub fn descriptor(&self) -> Option<i32> {
        Some(self.descriptor.load(Ordering::Relaxed)).filter(|fd| *fd >= 0)
    }

    /// Remembers such a descriptor; -1 for none.
    pub(super) fn remember_descriptor(&self, fd: i32) {
        self.descriptor.store(fd, Ordering::Relaxed);
    }

    /// Whether the device was removed.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Looks at what a call answered: EIO means that the device was removed. True the first time.
    pub fn note_errno(&self, error: i32) -> bool {
        error == errno::EIO && !self.gone.swap(true, Ordering::Relaxed)
    }

    /// Locks the record, up to date about objects.
    pub(super) fn look(&self) -> MutexGuard<'_, Inside> {
        let mut inside = lock(&self.inside);
        inside.record.refresh();
        inside
    }

    /// Locks the record, up to date about references too.
    pub(super) fn look_at_all(&self) -> MutexGuard<'_, Inside> {
        let mut inside = lock(&self.inside);
        inside.record.refresh_all();
        inside
    }

    /// Records what `event` makes of this process's own number.
    fn tell(&self, event: impl FnOnce(HolderId) -> Event) {
        let mut inside = lock(&self.inside);
        let event = event(inside.record.me());
        inside.record.tell(&event);
    }

    /// A context of this process was opened on it. `guarded`: by opening the device, so nothing can have happened before.
    pub fn opened(&self, guarded: bool, mark: Mark) {
        self.tell(|holder| Event::Opened { holder, stamp: mark.into(), guarded });
    }

    /// An object was made here, and `reference` is what the program has of it.
    pub fn made(&self, new: Newcomer, mut reference: Reference) -> Reference {
        let mut inside = lock(&self.inside);
        let generation = inside.born(&new, true);
        reference.generation = Some(generation);
        inside.touched.insert(generation, Some(reference.context));
        inside.acquired(&reference);
        reference
    }

    /// An import met an object that nobody has told of.
    pub fn met(&self, new: Newcomer) -> Generation {
        lock(&self.inside).born(&new, false)
    }

    /// `reference`, to an object that is known, was born here.
    pub fn imported(&self, reference: &Reference) {
        lock(&self.inside).acquired(reference);
    }

    /// `reference` came with a fork: it is counted already, but others do not know of it.
    pub(super) fn tell_inherited(&self, reference: &Reference) {
        lock(&self.inside).tell_acquired(reference);
    }

    /// The reference with this serial, to this object, ended here.
    pub fn released(&self, (serial, generation): (u64, Option<Generation>), origin: Origin, how: How, mark: Mark) {
        let mut inside = lock(&self.inside);
        let holder = inside.record.me();
        inside.record.tell(&Event::Released { holder, serial: Serial(serial), how, stamp: mark.into() });
        if let Some(generation) = generation {
            inside.record.state_mut().let_go(generation);
            inside.ended(generation, origin);
        }
    }

    /// A destroy of an object is under way.
    pub fn dying(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Dying { kind, handle, generation, holder, stamp: mark.into() });
    }

    /// That destroy succeeded.
    pub fn destroyed(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Destroyed { kind, handle, generation, holder, stamp: mark.into() });
    }

    /// That destroy failed.
    pub fn revived(&self, kind: Kind, handle: u32, generation: Generation) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Revived { kind, handle, generation, holder });
    }

    /// An object was exported.
    pub fn exported(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Exported { kind, handle, generation, holder, stamp: mark.into() });
    }

    /// Children of a PD were made here, or ended. Only others want to know: here they are counted already.
    pub fn children(&self, pd: u32, generation: Generation, child: ChildKind, delta: i32) {
        let mut inside = lock(&self.inside);
        if inside.record.is_shared() {
            let holder = inside.record.me();
            inside.record.tell(&Event::Children { holder, pd: Handle(pd), generation, child, delta });
        }
    }

    /// A reference vanished without our seeing how: from here on "nobody" and "never" cannot be claimed.
    pub fn lost_sight(&self, reference: &Reference) {
        lock(&self.inside).record.set_lost();
        let named = (reference.serial, reference.generation);
        self.released(named, reference.origin, How::Abandoned, reference.born);
    }

    /// This process makes calls on it that are not seen: from here on "nobody" and "never" cannot be claimed.
    pub(super) fn used_unseen(&self) {
        lock(&self.inside).record.set_lost();
    }

    /// This process has no context on it any more.
    pub fn leave(&self) {
        lock(&self.inside).record.leave();
    }

    /// Whether others may tell of it.
    pub fn is_shared(&self) -> bool {
        lock(&self.inside).record.is_shared()
    }

    /// Another living process that tells has it.
    pub fn is_held_by_others(&self) -> bool {
        !self.look_at_all().record.others().is_empty()
    }

    /// The processes besides this one that tell of it and live.
    pub fn living_pids(&self) -> Vec<u32> {
        let mut inside = self.look_at_all();
        let others = inside.record.others();
        others.into_iter().filter_map(|holder| inside.record.holder(holder)).map(|who| who.pid).collect()
    }

    /// A process that does not tell was seen to hold it.
    pub fn stranger(&self, pid: u32, time_ns: u64) {
        let mut inside = self.look();
        if inside.record.state().stranger().is_none() {
            let holder = inside.record.me();
            inside.record.tell(&Event::Stranger { holder, pid, stamp: Stamp { time_ns, site: Site::NONE } });
            inside.record.refresh();
        }
    }

    /// The kernel says that an object is gone. Where nobody has told of its end, nothing is whole from here on.
    pub fn vanished(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Vanished { kind, handle, generation, holder, stamp: mark.into() });
    }

    /// Notes that an orphan is told of; false where it was before.
    pub(super) fn tell_orphan(&self, generation: Generation) -> bool {
        lock(&self.inside).told.insert(generation)
    }

    /// Live objects to which no reference is left and that were not reported yet. `at_end`: as this process ends, with
    /// all its references.
    pub fn take_orphans(&self, at_end: bool) -> Vec<ledger::Object> {
        let mut inside = lock(&self.inside);
        let mut orphans = inside.orphans(at_end);
        orphans.retain(|object| !object.mourned && inside.told.insert(object.generation));
        orphans
    }

    /// It is reported, for certain, that an object lives on without a reference.
    pub fn mourned(&self, kind: Kind, handle: u32, generation: Generation) {
        let handle = Handle(handle);
        self.tell(|holder| Event::Mourned { kind, handle, generation, holder });
    }

    /// How many live objects have no reference left.
    pub fn orphans(&self) -> u64 {
        lock(&self.inside).orphans(false).len() as u64
    }
}

/// An object that is made, or met.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// PD or UMEM.
    pub kind: Kind,
    /// Its handle.
    pub handle: u32,
    /// The PD's pdn, the UMEM's id.
    pub second_id: Option<u32>,
    /// When and where.
    pub mark: Mark,
}

impl From<Mark> for Stamp {
    fn from(mark: Mark) -> Stamp {
        Stamp { time_ns: mark.time, site: mark.site }
    }
}
