//! The kernel objects of one device file: which handle is which object, and what became of it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{ContextId, Current, Mark, Reference};
use crate::check::Fate;
use crate::ledger::{Generation, Kind};

/// How many destroyed objects are remembered for each device file, so that a stale handle can be named.
pub const REMEMBERED_DEATHS: usize = 4096;

/// Where an object stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Live,
    Dying,
    Dead,
    /// A reference to it vanished unseen: nothing is claimed any more.
    Unknown,
}

/// One kernel object.
#[derive(Clone, Debug)]
pub struct Object {
    pub generation: Generation,
    life: Life,
    pub seen: bool,
    pub exported: bool,
    pub second_id: Option<u32>,
    /// Live references of this process.
    pub references: u32,
    /// The context that holds the owning reference.
    pub owner: Option<ContextId>,
    /// Its destruction, once it is dying.
    pub ended: Mark,
    /// The last reference that ended, for the report of an orphan.
    last: Option<Box<Reference>>,
    told: bool,
}

impl Object {
    pub fn new(second_id: Option<u32>, mark: Mark, seen: bool) -> Object {
        Object {
            generation: Generation::default(),
            life: Life::Live,
            seen,
            exported: false,
            second_id,
            references: 0,
            owner: None,
            ended: mark,
            last: None,
            told: false,
        }
    }

    pub fn is_dead(&self) -> bool {
        self.life == Life::Dead
    }

    pub fn dying(&mut self, mark: Mark) {
        if self.life == Life::Live {
            self.life = Life::Dying;
            self.ended = mark;
        }
    }

    pub fn destroyed(&mut self, mark: Mark) {
        self.life = Life::Dead;
        self.ended = mark;
    }

    pub fn revived(&mut self) {
        if self.life == Life::Dying {
            self.life = Life::Live;
        }
    }

    pub fn lost_sight(&mut self) {
        if self.life != Life::Dead {
            self.life = Life::Unknown;
        }
    }

    /// It lives on, was seen from its birth, and nobody refers to it.
    fn is_orphan(&self) -> bool {
        self.life == Life::Live && self.seen && self.references == 0 && self.last.is_some()
    }
}

/// All objects of one device file.
#[derive(Default, Debug)]
pub struct Objects {
    current: FxHashMap<(Kind, u32), Object>,
    /// Objects whose handle belongs to a later one, while references to them are left.
    past: FxHashMap<(Kind, u32, Generation), Object>,
    deaths: VecDeque<(Kind, u32, Generation)>,
    generation: Generation,
}

impl Objects {
    /// Takes a new object in. Whatever had this handle is dead: the kernel gives a number out once at a time. Where an
    /// importer had met an object of this handle and the numbers do not differ, it was this one.
    pub fn born(&mut self, kind: Kind, handle: u32, mut object: Object) -> Generation {
        let known = self.current.get_mut(&(kind, handle));
        if let Some(known) = known
            && matches!(known.life, Life::Live | Life::Unknown)
            && !known.seen
            && same_or_unknown(known.second_id, object.second_id)
        {
            known.seen |= object.seen;
            known.life = Life::Live;
            known.second_id = known.second_id.or(object.second_id);
            return known.generation;
        }
        self.generation = self.generation.next();
        object.generation = self.generation;
        let ended = object.ended;
        if object.seen {
            self.number_was_free(kind, handle, ended);
        }
        if let Some(mut old) = self.current.insert((kind, handle), object)
            && old.references > 0
        {
            match old.life {
                Life::Live | Life::Dying => old.destroyed(ended),
                Life::Dead | Life::Unknown => {}
            }
            self.past.insert((kind, handle, old.generation), old);
        }
        self.generation
    }

    /// Handles are one number space for all types: an object of another type that had this number is dead.
    fn number_was_free(&mut self, kind: Kind, handle: u32, mark: Mark) {
        let other = match kind {
            Kind::Pd => Kind::Umem,
            Kind::Umem => Kind::Pd,
        };
        if let Some(generation) =
            self.current.get(&(other, handle)).filter(|old| !old.is_dead()).map(|old| old.generation)
        {
            self.change(other, handle, generation, |old| old.destroyed(mark));
        }
    }

    pub fn find(&self, kind: Kind, handle: u32, generation: Generation) -> Option<&Object> {
        match self.current.get(&(kind, handle)) {
            Some(object) if object.generation == generation => Some(object),
            _ => self.past.get(&(kind, handle, generation)),
        }
    }

    pub fn change(&mut self, kind: Kind, handle: u32, generation: Generation, change: impl FnOnce(&mut Object)) {
        let object = match self.current.get_mut(&(kind, handle)) {
            Some(object) if object.generation == generation => object,
            _ => match self.past.get_mut(&(kind, handle, generation)) {
                Some(object) => object,
                None => return,
            },
        };
        let was_dead = object.is_dead();
        change(object);
        if object.is_dead() && !was_dead {
            self.remember(kind, handle, generation);
        }
    }

    /// Keeps the memory of the dead bounded.
    fn remember(&mut self, kind: Kind, handle: u32, generation: Generation) {
        self.deaths.push_back((kind, handle, generation));
        if self.deaths.len() > REMEMBERED_DEATHS
            && let Some((kind, handle, generation)) = self.deaths.pop_front()
            && self.find(kind, handle, generation).is_some_and(|old| old.is_dead() && old.references == 0)
            && self.current.get(&(kind, handle)).is_some_and(|now| now.generation == generation)
        {
            self.current.remove(&(kind, handle));
        }
    }

    /// A reference of this process ended; `last` is what a report of an orphan would show of it.
    pub fn released(&mut self, kind: Kind, handle: u32, generation: Generation, last: Option<Reference>) {
        let mut none_left = false;
        self.change(kind, handle, generation, |object| {
            object.references = object.references.saturating_sub(1);
            none_left = object.references == 0;
            if none_left && !object.is_dead() {
                object.last = last.map(Box::new);
            }
        });
        if none_left {
            self.past.remove(&(kind, handle, generation));
        }
    }

    pub fn fate(&self, kind: Kind, handle: u32, generation: Generation) -> Fate {
        let Some(object) = self.find(kind, handle, generation) else { return Fate::Unknown };
        match object.life {
            Life::Dead => {
                let now = self.current.get(&(kind, handle));
                let replaced = now.is_some_and(|now| now.generation != generation && now.life == Life::Live);
                Fate::Dead { replaced }
            }
            // One that is dying may yet live.
            Life::Live | Life::Dying => Fate::Alive,
            Life::Unknown => Fate::Unknown,
        }
    }

    pub fn current(&self, kind: Kind, handle: u32) -> Option<Current> {
        let object = self.current.get(&(kind, handle))?;
        Some(Current {
            generation: object.generation,
            alive: !object.is_dead(),
            seen: object.seen && object.life != Life::Unknown,
            exported: object.exported,
            second_id: object.second_id,
        })
    }

    pub fn has_pdn(&self, pdn: u32) -> bool {
        self.current
            .iter()
            .any(|((kind, _), object)| *kind == Kind::Pd && !object.is_dead() && object.second_id == Some(pdn))
    }

    pub fn take_orphans(&mut self) -> Vec<Reference> {
        let mut found: Vec<_> = Vec::new();
        for object in self.current.values_mut().filter(|object| object.is_orphan() && !object.told) {
            object.told = true;
            found.extend(object.last.as_deref().cloned());
        }
        found.sort_by_key(|reference| reference.serial);
        found
    }

    pub fn orphans(&self) -> u64 {
        self.current.values().filter(|object| object.is_orphan()).count() as u64
    }
}

fn same_or_unknown(one: Option<u32>, other: Option<u32>) -> bool {
    one.is_none() || other.is_none() || one == other
}
