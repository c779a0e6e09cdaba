//! A device file as this process sees it: the kernel objects in it, and who refers to them.
//!
//! Its state is the fold of its events. Where a ledger is at hand they go through that, so that all processes of the
//! device file fold the same ones in the same order; otherwise this process folds its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

use super::{End, FileIndex, Mark, Origin, Reference};
use crate::check::{Fate, errno};
use crate::finding::{HolderInfo, HolderState, Role};
use crate::ledger::{
    self, ChildKind, Event, FileState, Generation, Handle, HolderId, How, Kind, ObjectState, Serial, Stamp,
};
use crate::site::{Frame, Site, Trace};

/// A holder in the ledger, as reports name it.
#[derive(Clone, Debug)]
pub struct HolderFacts {
    /// Process id, in this process's namespace as far as that is known.
    pub pid: u32,
    /// Command name.
    pub comm: String,
    /// Its life's lock is held.
    pub alive: bool,
}

/// Where a device file's events go besides this process's own fold: a log that all its processes read.
pub trait Journal: Send + Sync {
    /// Which holder this process is.
    fn me(&self) -> HolderId;
    /// Writes an event: every process sees the shared ones in one order.
    fn append(&self, event: &Event);
    /// Folds in what was written since, by whomever.
    fn refresh(&self, state: &mut FileState);
    /// Who a holder is.
    fn holder(&self, holder: HolderId) -> Option<HolderFacts>;
    /// A stack that a holder took, as far as it can be read.
    fn frames(&self, holder: HolderId, site: Site) -> Vec<Frame>;
    /// Another live guarded process has this device file open.
    fn is_held_by_others(&self) -> bool;
    /// This process has no context on the device file any more.
    fn leave(&self);
}

/// The object that has a handle now, or had it last.
#[derive(Clone, Copy, Debug)]
pub struct Current {
    /// Which of the objects that had this handle.
    pub generation: Generation,
    /// It is not known to be dead.
    pub alive: bool,
    /// Its birth was seen.
    pub seen: bool,
    /// It was exported.
    pub exported: bool,
    /// The PD's pdn, the UMEM's id.
    pub second_id: Option<u32>,
}

/// A known destruction.
#[derive(Clone, Debug)]
pub struct Death {
    /// Wall clock, nanoseconds since 1970.
    pub time: u64,
    /// "by ibv_dealloc_pd", and in which process where that is another.
    pub by: String,
    /// Where.
    pub trace: Trace,
}

impl Death {
    /// "by ibv_dealloc_pd in pid 4100 (owner) 2.1 s ago".
    pub fn in_words(&self, now: u64) -> String {
        format!("{} {}", self.by, crate::describe::ago(now, self.time))
    }
}

/// What may change of a device file.
#[derive(Default)]
pub(super) struct Inside {
    state: FileState,
    /// Objects that this process made or referred to, and orphans that it has told.
    touched: HashSet<Generation>,
    told: HashSet<Generation>,
    /// The context that holds the owning reference, for objects made here.
    owners: std::collections::HashMap<Generation, super::ContextId>,
}

/// One device file.
pub struct DeviceFile {
    /// Its place in the tracker's list.
    pub index: FileIndex,
    /// The name in reports: short and stable while the file lives.
    pub label: Arc<str>,
    /// Its identity, where that could be had.
    pub id: Option<ledger::FileId>,
    /// It was opened here, under the guard, and not received from elsewhere.
    pub opened_here: bool,
    /// Contexts of this process that are open on it.
    pub open_contexts: AtomicU32,
    gone: AtomicBool,
    inside: Arc<Mutex<Inside>>,
    journal: Option<Box<dyn Journal>>,
}

impl DeviceFile {
    /// A device file of which this process knows what `journal` tells, or nothing yet.
    pub fn new(
        index: FileIndex,
        label: Arc<str>,
        id: Option<ledger::FileId>,
        opened_here: bool,
        journal: Option<Box<dyn Journal>>,
    ) -> Self {
        DeviceFile {
            index,
            label,
            id,
            opened_here,
            open_contexts: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            inside: Arc::default(),
            journal,
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

    /// The same device file in a forked child, which is a holder of its own.
    pub(super) fn inherited(&self, inside: Inside, journal: Option<Box<dyn Journal>>) -> DeviceFile {
        DeviceFile {
            index: self.index,
            label: self.label.clone(),
            id: self.id,
            opened_here: self.opened_here,
            open_contexts: AtomicU32::new(self.open_contexts.load(Ordering::Relaxed)),
            gone: AtomicBool::new(self.is_gone()),
            inside: Arc::new(Mutex::new(inside)),
            journal,
        }
    }

    /// Whether a context of this process is open on it.
    pub fn has_open_contexts(&self) -> bool {
        self.open_contexts.load(Ordering::Relaxed) > 0
    }

    /// Whether the device was removed.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Looks at what a call answered: EIO means that the device was removed. True the first time.
    pub fn note_errno(&self, error: i32) -> bool {
        error == errno::EIO && !self.gone.swap(true, Ordering::Relaxed)
    }

    /// The journal, where there is one.
    pub fn journal(&self) -> Option<&dyn Journal> {
        self.journal.as_deref()
    }

    fn me(&self) -> HolderId {
        self.journal.as_ref().map_or(HolderId::default(), |journal| journal.me())
    }

    fn tell(&self, inside: &mut Inside, event: Event) {
        match &self.journal {
            Some(journal) => {
                journal.append(&event);
                journal.refresh(&mut inside.state);
            }
            None => {
                inside.state.push(&event);
            }
        }
    }

    /// The state as it is now, with what other processes have told.
    fn look(&self) -> parking_lot::MutexGuard<'_, Inside> {
        let mut inside = self.inside.lock();
        if let Some(journal) = &self.journal {
            journal.refresh(&mut inside.state);
        }
        inside
    }

    /// A context of this process was opened on it. `guarded`: by opening the device, so nothing can have happened before.
    pub fn opened(&self, guarded: bool, mark: Mark) {
        let event = Event::Opened { holder: self.me(), stamp: mark.into(), guarded };
        self.tell(&mut self.inside.lock(), event);
    }

    /// An object was made, or (`seen: false`) an import met one whose birth was not seen. The answer says which of its
    /// handle it is.
    fn born(&self, inside: &mut Inside, new: &Newcomer, seen: bool) -> Generation {
        let Newcomer { kind, handle, second_id, mark } = *new;
        let holder = self.me();
        let (handle, stamp) = (Handle(handle), mark.into());
        self.tell(inside, Event::Born { kind, handle, second_id, holder, stamp, seen });
        inside.state.object(kind, handle).map_or(Generation::default(), |object| object.generation)
    }

    /// An object was made here, and `reference` is what the program has of it.
    pub fn made(&self, new: Newcomer, mut reference: Reference) -> Reference {
        let mut inside = self.inside.lock();
        let generation = self.born(&mut inside, &new, true);
        reference.generation = Some(generation);
        inside.owners.insert(generation, reference.context);
        self.acquired(&mut inside, &reference);
        reference
    }

    /// An import met an object that nobody has told of.
    pub fn met(&self, new: Newcomer) -> Generation {
        self.born(&mut self.inside.lock(), &new, false)
    }

    /// `reference`, to an object that is known, was born here.
    pub fn imported(&self, reference: &Reference) {
        self.acquired(&mut self.inside.lock(), reference);
    }

    fn acquired(&self, inside: &mut Inside, reference: &Reference) {
        let Some(generation) = reference.generation else { return };
        inside.touched.insert(generation);
        let origin = match reference.origin {
            _ if reference.inherited => ledger::Origin::Inherited,
            Origin::Owned => ledger::Origin::Owned,
            Origin::Imported => ledger::Origin::Imported,
        };
        let event = Event::Acquired {
            holder: self.me(),
            serial: Serial(reference.serial),
            kind: reference.kind,
            handle: Handle(reference.handle),
            generation,
            origin,
            stamp: reference.born.into(),
        };
        self.tell(inside, event);
    }

    /// A reference ended here.
    pub fn released(&self, serial: u64, how: How, mark: Mark) {
        let event = Event::Released { holder: self.me(), serial: Serial(serial), how, stamp: mark.into() };
        self.tell(&mut self.inside.lock(), event);
    }

    /// A destroy of an object is under way.
    pub fn dying(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let holder = self.me();
        let event = Event::Dying { kind, handle: Handle(handle), generation, holder, stamp: mark.into() };
        self.tell(&mut self.inside.lock(), event);
    }

    /// That destroy succeeded.
    pub fn destroyed(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let holder = self.me();
        let event = Event::Destroyed { kind, handle: Handle(handle), generation, holder, stamp: mark.into() };
        self.tell(&mut self.inside.lock(), event);
    }

    /// That destroy failed.
    pub fn revived(&self, kind: Kind, handle: u32, generation: Generation) {
        let event = Event::Revived { kind, handle: Handle(handle), generation, holder: self.me() };
        self.tell(&mut self.inside.lock(), event);
    }

    /// An object was exported.
    pub fn exported(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        let holder = self.me();
        let event = Event::Exported { kind, handle: Handle(handle), generation, holder, stamp: mark.into() };
        self.tell(&mut self.inside.lock(), event);
    }

    /// Children of a PD were made here, or ended.
    pub fn children(&self, pd: u32, generation: Generation, child: ChildKind, delta: i32) {
        let event = Event::Children { holder: self.me(), pd: Handle(pd), generation, child, delta };
        self.tell(&mut self.inside.lock(), event);
    }

    /// A reference vanished without our seeing how: from here on "nobody" and "never" cannot be claimed.
    pub fn lost_sight(&self, reference: &Reference) {
        self.inside.lock().state.set_lost();
        self.released(reference.serial, How::Abandoned, reference.born);
    }

    /// The object that has this handle now, or had it last.
    pub fn current(&self, kind: Kind, handle: u32) -> Option<Current> {
        let inside = self.look();
        let object = inside.state.object(kind, Handle(handle))?;
        Some(Current {
            generation: object.generation,
            alive: object.may_live(),
            seen: !object.inferred,
            exported: object.exported,
            second_id: object.second_id,
        })
    }

    /// What became of an object.
    pub fn fate(&self, kind: Kind, handle: u32, generation: Generation) -> Fate {
        fate(&self.look().state, kind, handle, generation)
    }

    /// The same, and whether live references to it are known besides the one with this serial.
    pub fn fate_and_others(&self, kind: Kind, handle: u32, generation: Generation, serial: u64) -> (Fate, bool) {
        let inside = self.look();
        let me = self.me();
        let is_it = |reference: &ledger::Reference| reference.holder == me && reference.serial == Serial(serial);
        let others = inside.state.references(generation).any(|reference| !is_it(reference) && self.lives(reference));
        (fate(&inside.state, kind, handle, generation), others)
    }

    /// A holder that died without a word refers to nothing any more.
    fn lives(&self, reference: &ledger::Reference) -> bool {
        match &self.journal {
            Some(journal) if reference.holder != journal.me() => {
                journal.holder(reference.holder).is_some_and(|holder| holder.alive)
            }
            _ => true,
        }
    }

    /// Who refers to an object besides the reference with this serial, for reports.
    pub fn holders(&self, generation: Generation, serial: u64, me: &super::Me, now: u64) -> Vec<HolderInfo> {
        let inside = self.look();
        let ours = self.me();
        let is_it = |reference: &ledger::Reference| reference.holder == ours && reference.serial == Serial(serial);
        let mut references: Vec<_> = inside.state.references(generation).filter(|one| !is_it(one)).copied().collect();
        drop(inside);
        references.sort_by_key(|reference| (reference.stamp.time_ns, reference.serial));
        references.iter().map(|reference| self.holder_info(reference, me, now)).collect()
    }

    fn holder_info(&self, reference: &ledger::Reference, me: &super::Me, now: u64) -> HolderInfo {
        let other = self.journal.as_ref().filter(|journal| journal.me() != reference.holder);
        let (pid, comm, alive) = match other.map(|journal| journal.holder(reference.holder)) {
            None => (me.pid, me.comm.clone(), true),
            Some(Some(holder)) => (holder.pid, holder.comm, holder.alive),
            Some(None) => (0, String::new(), false),
        };
        let role = match reference.origin {
            ledger::Origin::Owned => Role::Owner,
            ledger::Origin::Imported => Role::Importer,
            ledger::Origin::Inherited => Role::Heir,
        };
        let state = if alive { HolderState::Holds } else { HolderState::Gone };
        let age = Some(std::time::Duration::from_nanos(now.saturating_sub(reference.stamp.time_ns)));
        HolderInfo { pid, comm, role, state, age }
    }

    /// How an object died, where that is known.
    pub fn death(&self, kind: Kind, generation: Generation) -> Option<Death> {
        let inside = self.look();
        let object = inside.state.object_by_generation(generation).filter(|object| !object.may_live())?;
        let end = object.end?;
        drop(inside);
        let ledger::Mark { holder, stamp } = end.mark;
        let function = End::Destroy.function(kind);
        let (by, trace) = match &self.journal {
            Some(journal) if holder != journal.me() => {
                let frames = Trace::Frames(journal.frames(holder, stamp.site));
                match journal.holder(holder) {
                    Some(who) => (format!("by {function} in pid {} ({})", who.pid, who.comm), frames),
                    None => (format!("by {function} in another process"), frames),
                }
            }
            _ => (format!("by {function}"), stamp.site.into()),
        };
        let by = match end.how {
            ledger::EndHow::Destroyed | ledger::EndHow::Overtaken => by,
            ledger::EndHow::Unseen => "by a call that was not seen".to_owned(),
        };
        Some(Death { time: stamp.time_ns, by, trace })
    }

    /// The context of this process that holds the owning reference.
    pub fn owner(&self, generation: Generation) -> Option<super::ContextId> {
        self.inside.lock().owners.get(&generation).copied()
    }

    /// Forgets who owned an object that this process made.
    pub fn disowned(&self, generation: Generation) {
        let mut inside = self.inside.lock();
        inside.owners.remove(&generation);
        let dead = inside.state.object_by_generation(generation).is_none_or(|object| !object.may_live());
        if dead {
            inside.touched.remove(&generation);
            inside.told.remove(&generation);
        }
    }

    /// Whether a live PD here has this pdn.
    pub fn has_pdn(&self, pdn: u32) -> bool {
        let inside = self.look();
        inside
            .state
            .objects()
            .any(|object| object.kind == Kind::Pd && object.may_live() && object.second_id == Some(pdn))
    }

    /// Whether all that happened in it was told (rules.md, "The history is whole"); strangers are looked for elsewhere.
    pub fn is_whole(&self) -> bool {
        self.look().state.whole()
    }

    /// The children that other processes have under a PD: pid, command, type and count.
    pub fn children_elsewhere(&self, pd: Generation) -> Vec<(HolderFacts, ChildKind, u64)> {
        let Some(journal) = &self.journal else { return Vec::new() };
        let me = journal.me();
        let children: Vec<_> = self.look().state.children_of(pd).filter(|(holder, ..)| *holder != me).collect();
        children.into_iter().filter_map(|(holder, kind, count)| Some((journal.holder(holder)?, kind, count))).collect()
    }

    /// Live objects to which no reference is left and that were not reported yet.
    pub fn take_orphans(&self) -> Vec<ledger::Object> {
        let mut inside = self.look();
        let mut orphans: Vec<_> = self.orphans_in(&inside);
        orphans.retain(|object| inside.told.insert(object.generation));
        orphans
    }

    /// How many live objects have no reference left.
    pub fn orphans(&self) -> u64 {
        self.orphans_in(&self.look()).len() as u64
    }

    /// Objects that live on without a reference. Those of another live process are for that process to judge, unless
    /// we had a hand in them: it may not have told yet what it holds.
    fn orphans_in(&self, inside: &Inside) -> Vec<ledger::Object> {
        let state = &inside.state;
        let is_ours = |object: &ledger::Object| {
            let maker = object.born.holder;
            inside.touched.contains(&object.generation)
                || self.journal.as_ref().is_none_or(|journal| {
                    maker == journal.me() || journal.holder(maker).is_none_or(|maker| !maker.alive)
                })
        };
        let is_orphan = |object: &&ledger::Object| {
            object.state == ObjectState::Live
                && !object.inferred
                && !state.references(object.generation).any(|reference| self.lives(reference))
                && is_ours(object)
        };
        let mut orphans: Vec<_> = state.objects().filter(is_orphan).copied().collect();
        orphans.sort_by_key(|object| object.generation);
        orphans
    }

    /// The stack of an object's birth.
    pub fn trace(&self, mark: ledger::Mark) -> Trace {
        match &self.journal {
            Some(journal) if mark.holder != journal.me() => Trace::Frames(journal.frames(mark.holder, mark.stamp.site)),
            _ => mark.stamp.site.into(),
        }
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

fn fate(state: &FileState, kind: Kind, handle: u32, generation: Generation) -> Fate {
    let Some(object) = state.object_by_generation(generation) else { return Fate::Unknown };
    if object.may_live() {
        // One that is dying may yet live.
        return Fate::Alive;
    }
    let now = state.object(kind, Handle(handle));
    Fate::Dead { replaced: now.is_some_and(|now| now.generation != generation && now.state == ObjectState::Live) }
}
