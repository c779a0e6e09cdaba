//! The state of one device file: the fold of its events.

use std::collections::{BTreeMap, VecDeque};

use foldhash::{HashMap, HashSet};

use crate::ledger::child::ChildKind;
use crate::ledger::event::{Event, Generation, Handle, HolderId, Kind, Serial, Stamp};
use crate::ledger::object::{End, EndHow, Mark, Object, ObjectState, Reference};

/// How many dead objects without references are remembered in a device file. An older death is forgotten: a handle
/// that was freed longer ago counts as never seen.
pub const REMEMBERED_DEAD: usize = 1024;

/// What one holder has.
#[derive(Clone, Debug, Default)]
pub(super) struct Holding {
    pub(super) references: HashMap<Serial, Reference>,
    pub(super) children: HashMap<(Handle, Generation, ChildKind), i64>,
}

/// The state of one device file.
#[derive(Clone, Debug, Default)]
pub struct FileState {
    pub(super) next: u64,
    pub(super) first: Option<(Mark, bool)>,
    pub(super) joined: BTreeMap<HolderId, Stamp>,
    pub(super) stranger: Option<(u32, Mark)>,
    pub(super) lost: bool,
    pub(super) objects: HashMap<Generation, Object>,
    pub(super) current: HashMap<(Kind, Handle), Generation>,
    pub(super) previous: HashMap<Generation, Generation>,
    pub(super) recent: VecDeque<Generation>,
    pub(super) queued: HashSet<Generation>,
    pub(super) referenced: HashMap<Generation, HashSet<(HolderId, Serial)>>,
    pub(super) holdings: HashMap<HolderId, Holding>,
    changes: u64,
    /// Objects that the process that folds refers to; it knows its references itself.
    mine: HashSet<Generation>,
}

impl FileState {
    /// The state of a device file of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next event of this process alone; answers its sequence number.
    pub fn push(&mut self, event: &Event) -> u64 {
        let seq = self.next + 1;
        self.apply(seq, event);
        seq
    }

    /// Takes in an event. `seq` is its place in the device file's order; reference events have none, give 0.
    pub fn apply(&mut self, seq: u64, event: &Event) {
        self.next = self.next.max(seq);
        self.changes += 1;
        match *event {
            Event::Opened { holder, stamp, guarded } => {
                // Only the first to come can have been there from the start.
                self.first.get_or_insert((Mark { holder, stamp }, guarded));
                self.joined.insert(holder, stamp);
            }
            Event::Left { holder, .. } => {
                self.joined.remove(&holder);
                self.forget_holder(holder);
            }
            Event::Stranger { holder, pid, stamp } => {
                self.stranger.get_or_insert((pid, Mark { holder, stamp }));
            }
            Event::Born { kind, handle, second_id, holder, stamp, seen } => {
                let born = Object::new(kind, handle, seq, second_id, Mark { holder, stamp }, seen);
                if seen { self.born(born) } else { self.met(born) }
            }
            Event::Dying { kind, handle, generation, holder, stamp } => {
                self.with(kind, handle, generation, |object| object.dying(Mark { holder, stamp }));
            }
            Event::Destroyed { kind, handle, generation, holder, stamp } => {
                self.destroyed(kind, handle, generation, Mark { holder, stamp });
            }
            Event::Revived { kind, handle, generation, .. } => self.with(kind, handle, generation, Object::revived),
            Event::Vanished { kind, handle, generation, holder, stamp } => {
                self.vanished(kind, handle, generation, Mark { holder, stamp });
            }
            Event::Mourned { kind, handle, generation, .. } => {
                self.with(kind, handle, generation, |object| object.mourned = true);
            }
            Event::Exported { kind, handle, generation, .. } => {
                self.with(kind, handle, generation, |object| object.exported = true);
            }
            Event::Kept(object) => self.kept(object),
            Event::Acquired { holder, serial, kind, handle, generation, origin, stamp } => {
                self.acquired(Reference { holder, serial, kind, handle, generation, origin, stamp });
            }
            Event::Released { holder, serial, .. } => self.released(holder, serial),
            Event::Children { holder, pd, generation, child, delta } => {
                self.children(holder, (pd, generation, child), delta);
            }
        }
    }

    /// The maker's own word: whatever had this handle before is dead, unless an importer met this very object first.
    fn born(&mut self, mut object: Object) {
        let met_before = self
            .current_mut(object.kind, object.handle)
            .filter(|known| known.inferred && known.state == ObjectState::Live && !known.contradicts(object.second_id));
        if let Some(known) = met_before {
            object.generation = known.generation;
            object.exported = known.exported;
            object.second_id = object.second_id.or(known.second_id);
            *known = object;
        } else {
            self.insert(object);
        }
    }

    /// An importer's word: it says nothing where the record has a fitting object. Importing a PD proves that a PD has
    /// this handle; importing a UMEM asks no kernel and proves nothing.
    fn met(&mut self, object: Object) {
        let known = self.current_mut(object.kind, object.handle).filter(|known| known.may_live());
        match known {
            Some(known) if object.kind == Kind::Umem || !known.contradicts(object.second_id) => {
                known.second_id = known.second_id.or(object.second_id);
            }
            _ => self.insert(object),
        }
    }

    fn insert(&mut self, object: Object) {
        self.replace(object.kind, object.handle, object.born);
        let proven = !(object.inferred && object.kind == Kind::Umem);
        if proven {
            // Both kinds take their handles from one number space.
            self.replace(object.kind.other(), object.handle, object.born);
        }
        self.enter(object);
    }

    /// Puts an object into its handle's row: the latest in front, each with the one before it.
    fn enter(&mut self, object: Object) {
        let (key, generation) = ((object.kind, object.handle), object.generation);
        self.objects.insert(generation, object);
        let Some(&(mut newer)) = self.current.get(&key).filter(|current| **current > generation) else {
            if let Some(before) = self.current.insert(key, generation).filter(|before| *before < generation) {
                self.previous.insert(generation, before);
            }
            return;
        };
        // Only a snapshot tells of one that is not the latest.
        while let Some(before) = self.previous.get(&newer).filter(|before| **before > generation && **before < newer) {
            newer = *before;
        }
        if let Some(before) = self.previous.insert(newer, generation).filter(|before| *before < generation) {
            self.previous.insert(generation, before);
        }
    }

    fn current_mut(&mut self, kind: Kind, handle: Handle) -> Option<&mut Object> {
        self.objects.get_mut(self.current.get(&(kind, handle))?)
    }

    /// The object that an event is about; none where it does not fit, or is forgotten.
    fn object_mut(&mut self, kind: Kind, handle: Handle, generation: Generation) -> Option<&mut Object> {
        self.objects.get_mut(&generation).filter(|object| object.kind == kind && object.handle == handle)
    }

    fn with(&mut self, kind: Kind, handle: Handle, generation: Generation, change: impl FnOnce(&mut Object)) {
        if let Some(object) = self.object_mut(kind, handle, generation) {
            change(object);
        }
    }

    fn replace(&mut self, kind: Kind, handle: Handle, by: Mark) {
        if let Some(known) = self.current_mut(kind, handle).filter(|known| known.may_live()) {
            known.replaced(by);
            let (generation, end) = (known.generation, known.end);
            self.lost |= end.is_some_and(|end| end.how == EndHow::Unseen);
            self.retire(generation);
        }
    }

    /// One that is dying is about to be told of; any other was destroyed by somebody who does not tell.
    fn vanished(&mut self, kind: Kind, handle: Handle, generation: Generation, mark: Mark) {
        let alive = |object: &&mut Object| object.state == ObjectState::Live;
        if let Some(object) = self.object_mut(kind, handle, generation).filter(alive) {
            object.state = ObjectState::Destroyed;
            object.end = Some(End { how: EndHow::Unseen, mark });
            self.lost = true;
            self.retire(generation);
        }
    }

    fn destroyed(&mut self, kind: Kind, handle: Handle, generation: Generation, mark: Mark) {
        let Some(object) = self.object_mut(kind, handle, generation) else { return };
        let late = object.state == ObjectState::Destroyed;
        if late && object.end.is_some_and(|end| end.how == EndHow::Destroyed) {
            return;
        }
        object.state = ObjectState::Destroyed;
        object.dying = 0;
        object.end = Some(End { how: EndHow::Destroyed, mark });
        if !late {
            self.retire(generation);
        }
    }

    fn kept(&mut self, object: Object) {
        self.next = self.next.max(object.generation.0);
        self.enter(object);
        if object.state == ObjectState::Destroyed {
            self.retire(object.generation);
        }
    }

    fn acquired(&mut self, reference: Reference) {
        let Reference { holder, serial, generation, .. } = reference;
        let before = self.holdings.entry(holder).or_default().references.insert(serial, reference);
        if let Some(before) = before {
            self.unreference(&before);
        }
        self.referenced.entry(generation).or_default().insert((holder, serial));
    }

    fn released(&mut self, holder: HolderId, serial: Serial) {
        let reference = self.holdings.get_mut(&holder).and_then(|holding| holding.references.remove(&serial));
        if let Some(reference) = reference {
            self.unreference(&reference);
        }
    }

    fn unreference(&mut self, reference: &Reference) {
        let Some(holders) = self.referenced.get_mut(&reference.generation) else { return };
        holders.remove(&(reference.holder, reference.serial));
        if holders.is_empty() {
            self.referenced.remove(&reference.generation);
            self.retire_if_dead(reference.generation);
        }
    }

    /// While this stays, so do all objects. Only for this value: another fold of the same events may count otherwise.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    fn retire_if_dead(&mut self, generation: Generation) {
        self.changes += 1;
        if self.objects.get(&generation).is_some_and(|object| !object.may_live()) {
            self.retire(generation);
        }
    }

    /// This process refers to an object: it is remembered as long as that is so.
    pub fn hold(&mut self, generation: Generation) {
        self.mine.insert(generation);
    }

    /// It does not any more.
    pub fn let_go(&mut self, generation: Generation) {
        if self.mine.remove(&generation) {
            self.retire_if_dead(generation);
        }
    }

    /// What this process refers to is remembered by `next`, its record from now on.
    pub fn hand_over(&mut self, next: &mut FileState) {
        next.mine = std::mem::take(&mut self.mine);
    }

    fn is_referenced(&self, generation: Generation) -> bool {
        self.referenced.contains_key(&generation) || self.mine.contains(&generation)
    }

    fn children(&mut self, holder: HolderId, key: (Handle, Generation, ChildKind), delta: i32) {
        let children = &mut self.holdings.entry(holder).or_default().children;
        let count = children.entry(key).or_default();
        *count = count.saturating_add(i64::from(delta));
        if *count == 0 {
            children.remove(&key);
        }
    }

    /// A dead object that nobody references is remembered for a while.
    fn retire(&mut self, generation: Generation) {
        if self.is_referenced(generation) {
            return;
        }
        if self.queued.insert(generation) {
            self.recent.push_back(generation);
        }
        while self.recent.len() > REMEMBERED_DEAD {
            if let Some(oldest) = self.recent.pop_front() {
                self.queued.remove(&oldest);
                self.forget(oldest);
            }
        }
    }

    fn forget(&mut self, generation: Generation) {
        // A reference may have been told of after the object was retired.
        if self.is_referenced(generation) {
            return;
        }
        self.previous.remove(&generation);
        if let Some(object) = self.objects.remove(&generation) {
            let key = (object.kind, object.handle);
            if self.current.get(&key) == Some(&generation) {
                self.current.remove(&key);
            }
        }
    }

    /// Forgets what a holder had: it told that it is gone, or its segment is about to be read anew.
    pub fn forget_holder(&mut self, holder: HolderId) {
        let Some(holding) = self.holdings.remove(&holder) else { return };
        for reference in holding.references.values() {
            self.unreference(reference);
        }
    }

    /// Forgets all objects, to fold a snapshot in their place; references stay.
    pub fn forget_objects(&mut self) {
        let FileState { next, lost, referenced, holdings, mine, changes, .. } = std::mem::take(self);
        // Never a number again that stood for other objects.
        let changes = changes + 1;
        *self = FileState { next, lost, referenced, holdings, mine, changes, ..FileState::default() };
    }

    /// Notes that events may be missing: nothing is whole from now on.
    pub fn set_lost(&mut self) {
        self.lost = true;
    }
}
