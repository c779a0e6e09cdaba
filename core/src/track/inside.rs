//! What may change of a device file: its record, and what this process itself knows of the objects in it.

use rustc_hash::FxHashSet;

use super::record::Alone;
use super::touched::{Handles, Objects};
use super::{ContextId, Current, Mark, Origin, Record, Reference};
use crate::ledger::{self, Event, Generation, Handle, Kind, ObjectState, Serial};

/// What an import turned out to refer to.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The object.
    pub generation: Generation,
    /// The context of this process that holds the owning reference.
    pub owner: Option<ContextId>,
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

/// What may change of a device file.
pub(super) struct Inside {
    pub(super) record: Box<dyn Record>,
    /// Objects that this process made or referred to.
    touched: Objects,
    handles: Handles,
    /// Orphans that it has told.
    pub(super) told: FxHashSet<Generation>,
    /// How many last references may still end before the dead among `touched` are looked for.
    patience: usize,
}

/// How many at least.
const PATIENCE: usize = 64;

/// What is left of one that was taken over.
impl Default for Inside {
    fn default() -> Self {
        Inside::new(Box::new(Alone::part(0, 1)))
    }
}

impl Inside {
    pub(super) fn new(record: Box<dyn Record>) -> Self {
        Inside {
            record,
            touched: Objects::default(),
            handles: Handles::default(),
            told: FxHashSet::default(),
            patience: PATIENCE,
        }
    }

    /// Goes on with another record; the one so far.
    pub(super) fn replace_record(&mut self, record: Box<dyn Record>) -> Box<dyn Record> {
        // What was asked for was asked of the old one.
        self.handles = Handles::default();
        std::mem::replace(&mut self.record, record)
    }

    /// Whether more references to an object are known than `own` of this process. One of a holder that died without a
    /// word refers to nothing any more.
    pub(super) fn has_more(&mut self, generation: Generation, own: u32) -> bool {
        self.held(generation) > own || self.is_referred_elsewhere(generation)
    }

    pub(super) fn is_referred_elsewhere(&mut self, generation: Generation) -> bool {
        let (state, me) = (self.record.state(), self.record.me());
        let others: Vec<_> = state.references_of_others(generation, me).map(|one| one.holder).collect();
        others.into_iter().any(|holder| self.record.is_alive(holder))
    }

    /// How many references this process has to an object.
    pub(super) fn held(&self, generation: Generation) -> u32 {
        self.touched.held(generation)
    }

    /// In a forked child, which refers to each object so often as `held` says. What its parent was in the middle of making
    /// or ending is the parent's alone.
    pub(super) fn keep_inherited(&mut self, held: impl Fn(Generation) -> u32) {
        let Inside { record, touched, .. } = self;
        touched.retain(|generation, touched| {
            let before = std::mem::replace(&mut touched.held, held(generation));
            let is_parents = before > 0 && touched.held == 0;
            if is_parents {
                record.state_mut().let_go(generation);
            }
            !is_parents
        });
    }

    /// Counts a reference of this process in.
    #[inline(always)]
    pub(super) fn hold(&mut self, generation: Generation, owner: Option<ContextId>) -> Known {
        let touched = self.touched.get_or_add(generation);
        touched.owner = owner.or(touched.owner);
        touched.held += 1;
        let known = Known { generation, owner: touched.owner };
        if touched.held == 1 {
            self.record.state_mut().hold(generation);
        }
        known
    }

    /// Counts one out. What was kept of an object is forgotten with the last, if it is dead.
    #[inline]
    pub(super) fn let_go(&mut self, generation: Generation, origin: Origin) {
        let Some(touched) = self.touched.get_mut(generation).filter(|touched| touched.held > 0) else { return };
        touched.held -= 1;
        if origin == Origin::Owned {
            touched.owner = None;
        }
        if touched.held == 0 {
            self.let_go_of_last(generation);
        }
    }

    fn let_go_of_last(&mut self, generation: Generation) {
        self.record.state_mut().let_go(generation);
        let object = self.record.state().object_by_generation(generation);
        if object.is_none_or(|object| !object.may_live()) {
            self.touched.remove(generation);
            self.told.remove(&generation);
            return;
        }
        match self.patience.checked_sub(1) {
            Some(patience) => self.patience = patience,
            None => self.forget_the_dead(),
        }
    }

    /// An object may die after the last reference to it was let go, or its end not be read yet at that time.
    #[cold]
    fn forget_the_dead(&mut self) {
        self.record.refresh();
        let Inside { record, touched, told, .. } = self;
        let state = record.state();
        let may_live = |generation| state.object_by_generation(generation).is_some_and(ledger::Object::may_live);
        touched.retain(|generation, touched| touched.held > 0 || may_live(generation));
        told.retain(|generation| may_live(*generation));
        self.patience = PATIENCE + 2 * touched.len();
    }

    /// Objects that live on without a reference. Those of another live process are for that process to judge, unless we
    /// had a hand in them: it may not have told yet what it holds. `at_end`: what this process refers to counts for
    /// nothing any more.
    pub(super) fn orphans(&mut self, at_end: bool) -> Vec<ledger::Object> {
        let own = if at_end { u32::MAX } else { 0 };
        let me = self.record.me();
        let may_be = |object: &&ledger::Object| object.state == ObjectState::Live && !object.inferred;
        let mut objects: Vec<_> = self.record.state().objects().filter(may_be).copied().collect();
        objects.retain(|object| {
            let maker = object.born.holder;
            let is_ours = maker == me || self.touched.has(object.generation) || !self.record.is_alive(maker);
            is_ours && !self.has_more(object.generation, own)
        });
        objects
    }

    /// Records a birth; the answer says which of its handle the object is. None where that cannot be told: it did not get
    /// into the record, or what came before it cannot be read now.
    pub(super) fn born(&mut self, new: &Newcomer, seen: bool) -> Option<Generation> {
        let Newcomer { kind, handle, second_id, mark } = *new;
        let holder = self.record.me();
        let (handle, stamp) = (Handle(handle), mark.into());
        let seq = self.record.tell(&Event::Born { kind, handle, second_id, holder, stamp, seen });
        self.record.refresh();
        let state = self.record.state();
        // An importer's word changes nothing where the record has a living object that fits.
        let object = match seen {
            true => state.object_told(kind, handle, seq?),
            false => state.object(kind, handle).filter(|object| object.may_live()),
        };
        object.map(|object| object.generation)
    }

    /// The object that has this handle now, or had it last.
    #[inline]
    pub(super) fn current(&mut self, kind: Kind, handle: u32) -> Option<Current> {
        let Inside { record, handles, .. } = self;
        let state = record.state();
        handles.get((kind, handle), state.changes(), || {
            let object = state.object(kind, Handle(handle))?;
            Some(Current {
                generation: object.generation,
                alive: object.may_live(),
                seen: !object.inferred,
                exported: object.exported,
                second_id: object.second_id,
            })
        })
    }

    /// Tells others of a reference.
    pub(super) fn tell_acquired(&mut self, reference: &Reference) {
        let Some(generation) = reference.generation else { return };
        let origin = match reference.origin {
            _ if reference.inherited => ledger::Origin::Inherited,
            Origin::Owned => ledger::Origin::Owned,
            Origin::Imported => ledger::Origin::Imported,
        };
        let event = Event::Acquired {
            holder: self.record.me(),
            serial: Serial(reference.serial),
            kind: reference.kind,
            handle: Handle(reference.handle),
            generation,
            origin,
            stamp: reference.born.into(),
        };
        self.record.tell(&event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{FileState, HolderId};
    use crate::site::Frame;
    use crate::track::{HolderFacts, Mark};

    /// A record that others write too: what was told is known with the next refresh.
    #[derive(Default)]
    struct Late {
        state: FileState,
        told: Vec<Event>,
    }

    impl Record for Late {
        fn me(&self) -> HolderId {
            HolderId(1)
        }
        fn state(&self) -> &FileState {
            &self.state
        }
        fn state_mut(&mut self) -> &mut FileState {
            &mut self.state
        }
        fn tell(&mut self, event: &Event) -> Option<u64> {
            self.told.push(*event);
            Some(self.state.last_seq() + self.told.len() as u64)
        }
        fn refresh(&mut self) {
            for event in std::mem::take(&mut self.told) {
                self.state.push(&event);
            }
        }
        fn refresh_all(&mut self) {
            self.refresh();
        }
        fn is_alive(&mut self, _: HolderId) -> bool {
            true
        }
        fn holder(&mut self, _: HolderId) -> Option<HolderFacts> {
            None
        }
        fn frames(&self, _: HolderId, _: crate::site::Site) -> Vec<Frame> {
            Vec::new()
        }
        fn is_shared(&self) -> bool {
            true
        }
        fn others(&mut self) -> Vec<HolderId> {
            Vec::new()
        }
        fn leave(&mut self) {}
    }

    #[test]
    fn objects_whose_end_is_read_later_are_forgotten_too() {
        let mut inside = Inside::new(Box::new(Late::default()));
        let new = |handle| Newcomer { kind: Kind::Pd, handle, second_id: None, mark: Mark::default() };
        let lasting: Vec<_> = (0..100).map(|handle| inside.born(&new(handle), true).expect("told")).collect();
        // Half of them are referred to all the time, and all live.
        for generation in &lasting {
            inside.hold(*generation, None);
        }
        lasting[..50].iter().for_each(|generation| inside.let_go(*generation, Origin::Owned));
        for round in 0..10_000 {
            let generation = inside.born(&new(200), true).expect("told");
            inside.hold(generation, Some(ContextId(1)));
            inside.told.insert(generation);
            let (holder, stamp) = (HolderId(1), Mark::default().into());
            inside.record.tell(&Event::Destroyed { kind: Kind::Pd, handle: Handle(200), generation, holder, stamp });
            inside.let_go(generation, Origin::Owned);
            assert!(inside.touched.len() < 500 && inside.told.len() < 500, "{round}");
        }
        assert!(lasting.iter().all(|generation| inside.touched.has(*generation)));
        assert_eq!(lasting.iter().map(|generation| inside.held(*generation)).sum::<u32>(), 50);
    }
}
