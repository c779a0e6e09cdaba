//! A device file as this process sees it: the kernel objects in it, and who refers to them.
//!
//! Its state is the fold of its events. Where a ledger is at hand they go through that, so that all processes of the
//! device file fold the same ones in the same order; otherwise this process folds its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use verbsguard_lock::MutexGuard;

use super::inside::{Inside, Known, Newcomer};
use super::parts::Parts;
use super::{ContextId, Current, FileIndex, Here, Mark, Origin, Record, Reference};
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
    parts: Parts,
}

impl DeviceFile {
    /// A device file of which this process knows what `record` tells; with none, what it does itself.
    pub fn new(index: FileIndex, label: Arc<str>, id: Option<FileId>, record: Option<Box<dyn Record>>) -> Self {
        DeviceFile {
            index,
            label,
            id,
            open_contexts: AtomicU32::new(0),
            descriptor: AtomicI32::new(-1),
            gone: AtomicBool::new(false),
            parts: record.map_or_else(Parts::alone, Parts::shared),
        }
    }

    /// Its insides, for fork.
    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The same device file in a forked child, with what was in it.
    pub(super) fn heir(&self, insides: Vec<Option<Inside>>) -> DeviceFile {
        DeviceFile {
            index: self.index,
            label: self.label.clone(),
            id: self.id,
            open_contexts: AtomicU32::new(self.open_contexts.load(Ordering::Relaxed)),
            descriptor: AtomicI32::new(self.descriptor.load(Ordering::Relaxed)),
            gone: AtomicBool::new(self.is_gone()),
            parts: Parts::of(insides),
        }
    }

    /// What a forked child has to do with its objects: it refers to each so often as `held` says.
    pub(super) fn keep_inherited(&self, held: impl Fn(Generation) -> u32) {
        for mut part in self.parts.lock_all().into_iter().flatten() {
            part.keep_inherited(&held);
        }
    }

    /// A forked child is a holder of its own, which joins with `record`.
    pub(super) fn join(&self, mut record: Box<dyn Record>) {
        let mut inside = self.main();
        inside.record.state_mut().hand_over(record.state_mut());
        // The parent's record is left as it is: it is the parent's to write in.
        std::mem::forget(inside.replace_record(record));
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

    /// Locks what is known of the objects of a handle.
    #[inline]
    fn of_handle(&self, handle: u32) -> MutexGuard<'_, Inside> {
        self.parts.lock(handle.into())
    }

    /// Locks what is known of an object.
    #[inline]
    fn of_object(&self, generation: Generation) -> MutexGuard<'_, Inside> {
        self.parts.lock(generation.0)
    }

    /// Locks what is known of the device file as such.
    fn main(&self) -> MutexGuard<'_, Inside> {
        self.parts.lock(0)
    }

    /// The same, up to date about objects.
    pub(super) fn look(&self) -> MutexGuard<'_, Inside> {
        up_to_date(self.main())
    }

    /// The same, up to date about references too.
    pub(super) fn look_at_all(&self) -> MutexGuard<'_, Inside> {
        let mut inside = self.main();
        inside.record.refresh_all();
        inside
    }

    /// Locks what is known of the objects of a handle, up to date.
    pub(super) fn look_at_handle(&self, handle: u32) -> MutexGuard<'_, Inside> {
        up_to_date(self.of_handle(handle))
    }

    /// Locks what is known of an object, up to date.
    pub(super) fn look_at(&self, generation: Generation) -> MutexGuard<'_, Inside> {
        up_to_date(self.of_object(generation))
    }

    /// The same, up to date about references too.
    pub(super) fn look_at_holders(&self, generation: Generation) -> MutexGuard<'_, Inside> {
        let mut inside = self.of_object(generation);
        inside.record.refresh_all();
        inside
    }

    /// All that is known, part by part.
    pub(super) fn look_everywhere(&self) -> impl Iterator<Item = MutexGuard<'_, Inside>> {
        self.parts.each().map(up_to_date)
    }

    /// Records what `event` makes of this process's own number.
    fn tell(mut inside: MutexGuard<'_, Inside>, event: impl FnOnce(HolderId) -> Event) {
        let event = event(inside.record.me());
        inside.record.tell(&event);
    }

    /// A context of this process was opened on it. `guarded`: by opening the device, so nothing can have happened before.
    pub fn opened(&self, guarded: bool, mark: Mark) {
        Self::tell(self.main(), |holder| Event::Opened { holder, stamp: mark.into(), guarded });
    }

    /// An object was made here, by `owner`, who has a reference to it.
    pub fn made(&self, new: &Newcomer, owner: ContextId) -> Option<Generation> {
        let mut inside = self.of_handle(new.handle);
        let generation = inside.born(new, true)?;
        Some(inside.hold(generation, Some(owner)).generation)
    }

    /// An import met an object that nobody has told of.
    pub fn met(&self, new: &Newcomer) -> Option<Generation> {
        let mut inside = self.of_handle(new.handle);
        let generation = inside.born(new, false)?;
        Some(inside.hold(generation, None).generation)
    }

    /// An import brought `new`: which object it is, where the record has one of that handle that `fits`; then a reference
    /// to it is counted from now on. Otherwise what the record has.
    #[inline]
    pub fn recognised(&self, new: &Newcomer, fits: impl FnOnce(&Current) -> bool) -> Result<Known, Option<Current>> {
        let mut inside = self.of_handle(new.handle);
        if self.tells() {
            inside.record.refresh();
        }
        match inside.current(new.kind, new.handle) {
            Some(current) if fits(&current) => Ok(inside.hold(current.generation, None)),
            other => Err(other),
        }
    }

    /// Whether there is a record that others read.
    #[inline]
    pub(super) fn tells(&self) -> bool {
        self.parts.is_one()
    }

    /// Others are to know of `reference`, which is counted here.
    pub(super) fn tell_acquired(&self, reference: &Reference) {
        self.main().tell_acquired(reference);
    }

    /// The reference with this serial, to this object, ended here.
    pub fn released(&self, named: (u64, Option<Generation>), origin: Origin, how: How, here: &dyn Here) {
        let inside = named.1.map_or_else(|| self.main(), |generation| self.of_object(generation));
        self.release(inside, named, origin, how, here);
    }

    fn release(
        &self,
        mut inside: MutexGuard<'_, Inside>,
        (serial, generation): (u64, Option<Generation>),
        origin: Origin,
        how: How,
        here: &dyn Here,
    ) {
        if self.tells() {
            let holder = inside.record.me();
            inside.record.tell(&Event::Released { holder, serial: Serial(serial), how, stamp: here.mark().into() });
        }
        if let Some(generation) = generation {
            inside.let_go(generation, origin);
        }
    }

    /// A destroy of `victim` succeeded, which ended the reference that is `named`.
    pub(super) fn destroyed_and_released(
        &self,
        (kind, handle, victim): (Kind, u32, Generation),
        named: (u64, Option<Generation>),
        origin: Origin,
        mark: Mark,
    ) {
        let mut inside = self.of_object(victim);
        let holder = inside.record.me();
        let (handle, stamp) = (Handle(handle), mark.into());
        inside.record.tell(&Event::Destroyed { kind, handle, generation: victim, holder, stamp });
        // Nearly always it was the very object that was meant.
        if named.1 != Some(victim) {
            drop(inside);
            return self.released(named, origin, How::Destroyed, &mark);
        }
        self.release(inside, named, origin, How::Destroyed, &mark);
    }

    /// A destroy of an object is under way.
    pub fn dying(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        Self::tell(self.of_object(generation), |holder| Event::Dying {
            kind,
            handle,
            generation,
            holder,
            stamp: mark.into(),
        });
    }

    /// That destroy failed.
    pub fn revived(&self, kind: Kind, handle: u32, generation: Generation) {
        let handle = Handle(handle);
        Self::tell(self.of_object(generation), |holder| Event::Revived { kind, handle, generation, holder });
    }

    /// An object was exported.
    pub fn exported(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let handle = Handle(handle);
        Self::tell(self.of_object(generation), |holder| Event::Exported {
            kind,
            handle,
            generation,
            holder,
            stamp: mark.into(),
        });
    }

    /// Children of a PD were made here, or ended. Only others want to know: here they are counted already.
    pub fn children(&self, pd: u32, generation: Generation, child: ChildKind, delta: i32) {
        if self.is_shared() {
            let handle = Handle(pd);
            Self::tell(self.main(), |holder| Event::Children { holder, pd: handle, generation, child, delta });
        }
    }

    /// A reference vanished without our seeing how: from here on "nobody" and "never" cannot be claimed.
    pub fn lost_sight(&self, reference: &Reference) {
        self.main().record.state_mut().set_lost();
        let named = (reference.serial, reference.generation);
        self.released(named, reference.origin, How::Abandoned, &reference.born);
    }

    /// This process makes calls on it that are not seen: from here on "nobody" and "never" cannot be claimed.
    pub(super) fn used_unseen(&self) {
        self.main().record.state_mut().set_lost();
    }

    /// This process has no context on it any more.
    pub fn leave(&self) {
        self.main().record.leave();
    }

    /// Whether others may tell of it.
    pub fn is_shared(&self) -> bool {
        self.tells() && self.main().record.is_shared()
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
        let vanished = |holder| Event::Vanished { kind, handle, generation, holder, stamp: mark.into() };
        Self::tell(self.of_object(generation), vanished);
    }

    /// Notes that an orphan is told of; false where it was before.
    pub(super) fn tell_orphan(&self, generation: Generation) -> bool {
        self.of_object(generation).told.insert(generation)
    }

    /// Live objects to which no reference is left and that were not reported yet. `at_end`: as this process ends, with
    /// all its references.
    pub fn take_orphans(&self, at_end: bool) -> Vec<ledger::Object> {
        self.each_orphan(at_end, |inside, object| !object.mourned && inside.told.insert(object.generation))
    }

    /// It is reported, for certain, that an object lives on without a reference.
    pub fn mourned(&self, kind: Kind, handle: u32, generation: Generation) {
        let handle = Handle(handle);
        Self::tell(self.of_object(generation), |holder| Event::Mourned { kind, handle, generation, holder });
    }

    /// How many live objects have no reference left.
    pub fn orphans(&self) -> u64 {
        self.each_orphan(false, |_, _| true).len() as u64
    }

    fn each_orphan(
        &self,
        at_end: bool,
        mut take: impl FnMut(&mut Inside, &ledger::Object) -> bool,
    ) -> Vec<ledger::Object> {
        let mut found = Vec::new();
        for mut inside in self.parts.each() {
            inside.record.refresh_all();
            let mut orphans = inside.orphans(at_end);
            orphans.retain(|object| take(&mut inside, object));
            found.append(&mut orphans);
        }
        found.sort_by_key(|object| object.generation);
        found
    }
}

fn up_to_date(mut inside: MutexGuard<'_, Inside>) -> MutexGuard<'_, Inside> {
    inside.record.refresh();
    inside
}

impl From<Mark> for Stamp {
    fn from(mark: Mark) -> Stamp {
        Stamp { time_ns: mark.time, site: mark.site }
    }
}
