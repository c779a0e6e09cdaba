//! A device file as this process sees it: the kernel objects in it, and who refers to them.
//!
//! Its state is the fold of its events. Where a ledger is at hand they go through that, so that all processes of the
//! device file fold the same ones in the same order; otherwise this process folds its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use parking_lot::{ArcMutexGuard, Mutex, MutexGuard, RawMutex};

use super::patience::lock;
use super::{ContextId, End, FileIndex, Mark, Origin, Reference};
use crate::check::{Fate, errno};
use crate::finding::{HolderInfo, HolderState, Role};
use crate::ledger::{
    self, ChildKind, EndHow, Event, FileId, FileState, Generation, Handle, HolderId, How, Kind, ObjectState, Serial,
    Stamp,
};
use crate::site::{Frame, Site, Trace};

/// A holder in the ledger, as reports name it.
#[derive(Clone, Debug)]
pub struct HolderFacts {
    /// Process id, in this process's namespace as far as that is known.
    pub pid: u32,
    /// Command name.
    pub comm: String,
}

/// "pid 4100 (owner)".
impl fmt::Display for HolderFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} ({})", self.pid, self.comm)
    }
}

/// The record of a device file: where its events go, and the state that is their fold. Either this process's own
/// ([`Alone`]), or a log that all its processes read.
pub trait Record: Send {
    /// Which holder this process is.
    fn me(&self) -> HolderId;
    /// What is known, as of the last refresh.
    fn state(&self) -> &FileState;
    /// The same, to count this process's own references in.
    fn state_mut(&mut self) -> &mut FileState;
    /// Nothing can be said any more to have been seen in whole.
    fn set_lost(&mut self);
    /// Records an event of this process. Its own references are for others to know: here they are counted.
    fn tell(&mut self, event: &Event);
    /// Takes in what others told about objects. With nothing new this is cheap.
    fn refresh(&mut self);
    /// The same, and what others told about their references and children.
    fn refresh_all(&mut self);
    /// Whether a holder's process lives.
    fn is_alive(&mut self, holder: HolderId) -> bool;
    /// Who a holder is. None for this process itself, and where it cannot be read.
    fn holder(&mut self, holder: HolderId) -> Option<HolderFacts>;
    /// A stack that another holder took.
    fn frames(&self, holder: HolderId, site: Site) -> Vec<Frame>;
    /// Other processes may tell of this device file.
    fn is_shared(&self) -> bool;
    /// The other holders whose processes live.
    fn others(&mut self) -> Vec<HolderId>;
    /// This process has left the device file.
    fn leave(&mut self);
}

/// The record of a process that sees only itself.
#[derive(Default)]
pub struct Alone(FileState);

impl Record for Alone {
    fn me(&self) -> HolderId {
        HolderId::default()
    }
    fn state(&self) -> &FileState {
        &self.0
    }
    fn state_mut(&mut self) -> &mut FileState {
        &mut self.0
    }
    fn set_lost(&mut self) {
        self.0.set_lost();
    }
    fn tell(&mut self, event: &Event) {
        if event.is_shared() {
            self.0.push(event);
        }
    }
    fn refresh(&mut self) {}
    fn refresh_all(&mut self) {}
    fn is_alive(&mut self, _: HolderId) -> bool {
        true
    }
    fn holder(&mut self, _: HolderId) -> Option<HolderFacts> {
        None
    }
    fn frames(&self, _: HolderId, _: Site) -> Vec<Frame> {
        Vec::new()
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn others(&mut self) -> Vec<HolderId> {
        Vec::new()
    }
    fn leave(&mut self) {}
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
pub(super) struct Inside {
    record: Box<dyn Record>,
    /// Objects that this process made or referred to; for those made here the context that holds the owning reference.
    touched: FxHashMap<Generation, Option<ContextId>>,
    /// Orphans that it has told.
    told: FxHashSet<Generation>,
    /// Objects that are gone by a call that nobody told of.
    vanished: FxHashSet<Generation>,
}

impl Default for Inside {
    fn default() -> Self {
        Inside::new(Box::<Alone>::default())
    }
}

impl Inside {
    fn new(record: Box<dyn Record>) -> Self {
        Inside { record, touched: FxHashMap::default(), told: FxHashSet::default(), vanished: FxHashSet::default() }
    }

    /// Whether more references to an object are known than `own` of this process. One of a holder that died without a
    /// word refers to nothing any more.
    fn has_more(&mut self, generation: Generation, own: u32) -> bool {
        self.record.state().held(generation) > own || self.is_referred_elsewhere(generation)
    }

    fn is_referred_elsewhere(&mut self, generation: Generation) -> bool {
        let (state, me) = (self.record.state(), self.record.me());
        let others: Vec<_> = state.references_of_others(generation, me).map(|one| one.holder).collect();
        others.into_iter().any(|holder| self.record.is_alive(holder))
    }

    /// Forgets what was kept of an object, once a reference to it has ended and it is dead.
    fn ended(&mut self, generation: Generation, origin: Origin) {
        let object = self.record.state().object_by_generation(generation);
        if object.is_none_or(|object| !object.may_live()) {
            self.touched.remove(&generation);
            self.told.remove(&generation);
        } else if origin == Origin::Owned {
            self.touched.insert(generation, None);
        }
    }

    /// Objects that live on without a reference. Those of another live process are for that process to judge, unless we
    /// had a hand in them: it may not have told yet what it holds. `at_end`: what this process refers to counts for
    /// nothing any more.
    fn orphans(&mut self, at_end: bool) -> Vec<ledger::Object> {
        let own = if at_end { u32::MAX } else { 0 };
        self.record.refresh_all();
        let me = self.record.me();
        let may_be = |object: &&ledger::Object| object.state == ObjectState::Live && !object.inferred;
        let mut objects: Vec<_> = self.record.state().objects().filter(may_be).copied().collect();
        objects.retain(|object| {
            let maker = object.born.holder;
            let is_ours = maker == me || self.touched.contains_key(&object.generation) || !self.record.is_alive(maker);
            is_ours && !self.vanished.contains(&object.generation) && !self.has_more(object.generation, own)
        });
        objects.sort_by_key(|object| object.generation);
        objects
    }
}

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
    inside: Arc<Mutex<Inside>>,
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
    fn look(&self) -> MutexGuard<'_, Inside> {
        let mut inside = lock(&self.inside);
        inside.record.refresh();
        inside
    }

    /// Locks the record, up to date about references too.
    fn look_at_all(&self) -> MutexGuard<'_, Inside> {
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
        let generation = born(&mut inside, &new, true);
        reference.generation = Some(generation);
        inside.touched.insert(generation, Some(reference.context));
        acquired(&mut inside, &reference);
        reference
    }

    /// An import met an object that nobody has told of.
    pub fn met(&self, new: Newcomer) -> Generation {
        born(&mut lock(&self.inside), &new, false)
    }

    /// `reference`, to an object that is known, was born here.
    pub fn imported(&self, reference: &Reference) {
        acquired(&mut lock(&self.inside), reference);
    }

    /// `reference` came with a fork: it is counted already, but others do not know of it.
    pub(super) fn tell_inherited(&self, reference: &Reference) {
        tell_acquired(&mut lock(&self.inside), reference);
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

    /// The object that has this handle now, or had it last.
    pub fn current(&self, kind: Kind, handle: u32) -> Option<Current> {
        let inside = self.look();
        let object = inside.record.state().object(kind, Handle(handle))?;
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
        let inside = self.look();
        if inside.vanished.contains(&generation) {
            return Fate::Unknown;
        }
        fate(inside.record.state(), kind, handle, generation)
    }

    /// The kernel says that an object is gone, and nobody has told of it: from here on nothing is whole.
    pub fn vanished(&self, generation: Generation) {
        let mut inside = self.look();
        let unseen = inside.record.state().object_by_generation(generation).is_some_and(|object| object.may_live());
        if unseen {
            inside.record.set_lost();
            inside.vanished.insert(generation);
        }
    }

    /// Whether live references to an object are known besides a live one of this process.
    pub fn has_others(&self, generation: Generation) -> bool {
        self.look_at_all().has_more(generation, 1)
    }

    /// The same, of this process's references none counted.
    pub(super) fn is_referred_elsewhere(&self, generation: Generation) -> bool {
        self.look_at_all().is_referred_elsewhere(generation)
    }

    /// Notes that an orphan is told of; false where it was before.
    pub(super) fn tell_orphan(&self, generation: Generation) -> bool {
        lock(&self.inside).told.insert(generation)
    }

    /// Which other processes refer to an object, for reports.
    pub fn holders_elsewhere(&self, generation: Generation, now: u64) -> Vec<HolderInfo> {
        let mut inside = self.look_at_all();
        let me = inside.record.me();
        let references: Vec<_> = inside.record.state().references_of_others(generation, me).copied().collect();
        references.iter().map(|one| holder_info(&mut *inside.record, one, now)).collect()
    }

    /// How an object died, where that is known.
    pub fn death(&self, kind: Kind, generation: Generation) -> Option<Death> {
        let mut inside = self.look();
        let object = inside.record.state().object_by_generation(generation).filter(|object| !object.may_live())?;
        let ledger::End { how, mark } = object.end?;
        let function = End::Destroy.function(kind);
        let by = match how {
            EndHow::Unseen => "by a call that was not seen".to_owned(),
            EndHow::Destroyed | EndHow::Overtaken if mark.holder == inside.record.me() => format!("by {function}"),
            EndHow::Destroyed | EndHow::Overtaken => match inside.record.holder(mark.holder) {
                Some(who) => format!("by {function} in {who}"),
                None => format!("by {function} in another process"),
            },
        };
        Some(Death { time: mark.stamp.time_ns, by, trace: trace(&*inside.record, mark) })
    }

    /// Whether this process set a mark.
    pub(super) fn is_mine(&self, mark: ledger::Mark) -> bool {
        lock(&self.inside).record.me() == mark.holder
    }

    /// Which other process made an object, and where. None where its birth was not seen.
    pub fn birth(&self, generation: Generation) -> Option<(Option<HolderFacts>, Trace)> {
        let mut inside = self.look();
        let born = inside.record.state().object_by_generation(generation).filter(|object| !object.inferred)?.born;
        let who = inside.record.holder(born.holder);
        Some((who, trace(&*inside.record, born)))
    }

    /// The context of this process that holds the owning reference.
    pub fn owner(&self, generation: Generation) -> Option<ContextId> {
        lock(&self.inside).touched.get(&generation).copied().flatten()
    }

    /// The live PD here that has this pdn.
    pub fn of_pdn(&self, pdn: u32) -> Option<Generation> {
        let is_it =
            |object: &&ledger::Object| object.kind == Kind::Pd && object.may_live() && object.second_id == Some(pdn);
        self.look().record.state().objects().find(is_it).map(|object| object.generation)
    }

    /// Whether all that happened in it was told (rules.md, "The history is whole"); strangers are looked for elsewhere.
    pub fn is_whole(&self) -> bool {
        self.look().record.state().whole()
    }

    /// The children that other processes have under a PD: who, of which type, and how many.
    pub fn children_elsewhere(&self, pd: Generation) -> Vec<(HolderFacts, ChildKind, u64)> {
        let mut inside = self.look_at_all();
        let me = inside.record.me();
        let children: Vec<_> = inside.record.state().children_of(pd).filter(|(holder, ..)| *holder != me).collect();
        let named = |(holder, kind, count)| Some((inside.record.holder(holder)?, kind, count));
        children.into_iter().filter_map(named).collect()
    }

    /// Live objects to which no reference is left and that were not reported yet. `at_end`: as this process ends, with
    /// all its references.
    pub fn take_orphans(&self, at_end: bool) -> Vec<ledger::Object> {
        let mut inside = lock(&self.inside);
        let mut orphans = inside.orphans(at_end);
        orphans.retain(|object| inside.told.insert(object.generation));
        orphans
    }

    /// How many live objects have no reference left.
    pub fn orphans(&self) -> u64 {
        lock(&self.inside).orphans(false).len() as u64
    }
}

/// Records a birth; the answer says which of its handle the object is.
fn born(inside: &mut Inside, new: &Newcomer, seen: bool) -> Generation {
    let Newcomer { kind, handle, second_id, mark } = *new;
    let holder = inside.record.me();
    let (handle, stamp) = (Handle(handle), mark.into());
    inside.record.tell(&Event::Born { kind, handle, second_id, holder, stamp, seen });
    inside.record.refresh();
    inside.record.state().object(kind, handle).map_or(Generation::default(), |object| object.generation)
}

fn acquired(inside: &mut Inside, reference: &Reference) {
    let Some(generation) = reference.generation else { return };
    inside.touched.entry(generation).or_default();
    inside.record.state_mut().hold(generation);
    tell_acquired(inside, reference);
}

fn tell_acquired(inside: &mut Inside, reference: &Reference) {
    let Some(generation) = reference.generation else { return };
    let origin = match reference.origin {
        _ if reference.inherited => ledger::Origin::Inherited,
        Origin::Owned => ledger::Origin::Owned,
        Origin::Imported => ledger::Origin::Imported,
    };
    let event = Event::Acquired {
        holder: inside.record.me(),
        serial: Serial(reference.serial),
        kind: reference.kind,
        handle: Handle(reference.handle),
        generation,
        origin,
        stamp: reference.born.into(),
    };
    inside.record.tell(&event);
}

fn holder_info(record: &mut dyn Record, reference: &ledger::Reference, now: u64) -> HolderInfo {
    let alive = record.is_alive(reference.holder);
    let (pid, comm) = record.holder(reference.holder).map_or((0, String::new()), |who| (who.pid, who.comm));
    let role = match reference.origin {
        ledger::Origin::Owned => Role::Owner,
        ledger::Origin::Imported => Role::Importer,
        ledger::Origin::Inherited => Role::Heir,
    };
    let state = if alive { HolderState::Holds } else { HolderState::Gone };
    let age = Some(Duration::from_nanos(now.saturating_sub(reference.stamp.time_ns)));
    HolderInfo { pid, comm, role, state, age }
}

fn trace(record: &dyn Record, mark: ledger::Mark) -> Trace {
    if mark.holder == record.me() {
        mark.stamp.site.into()
    } else {
        Trace::Frames(record.frames(mark.holder, mark.stamp.site))
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
