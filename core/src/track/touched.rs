//! The objects that this process has to do with.

use rustc_hash::FxHashMap;
use slab::Slab;

use super::{ContextId, Current};
use crate::ledger::{Generation, Kind};

/// What this process has to do with an object.
#[derive(Debug)]
pub(super) struct Touched {
    generation: Generation,
    /// For one made here, the context that holds the owning reference.
    pub(super) owner: Option<ContextId>,
    /// Its references to it.
    pub(super) held: u32,
}

/// Entries of what was found last: a power of two.
const LATEST: usize = 8;

/// The objects, by generation. Most calls are about few of them, which are found without a look into the map.
#[derive(Default)]
pub(super) struct Objects {
    places: FxHashMap<Generation, usize>,
    touched: Slab<Touched>,
    latest: [usize; LATEST],
}

impl Objects {
    /// The object of a generation, if it is one of these.
    #[inline]
    pub(super) fn get_mut(&mut self, generation: Generation) -> Option<&mut Touched> {
        let place = self.place(generation)?;
        self.touched.get_mut(place)
    }

    #[inline(always)]
    fn place(&mut self, generation: Generation) -> Option<usize> {
        // Where there are several records of a device file, those of one differ in their upper bits only.
        let latest = &mut self.latest[(generation.0 ^ generation.0 >> 4) as usize % LATEST];
        if self.touched.get(*latest).is_none_or(|touched| touched.generation != generation) {
            *latest = *self.places.get(&generation)?;
        }
        Some(*latest)
    }

    /// The same, which is one of these from now on.
    #[inline]
    pub(super) fn get_or_add(&mut self, generation: Generation) -> &mut Touched {
        let place = self.place(generation).unwrap_or_else(|| self.add(generation));
        &mut self.touched[place]
    }

    #[cold]
    fn add(&mut self, generation: Generation) -> usize {
        let place = self.touched.insert(Touched { generation, owner: None, held: 0 });
        self.places.insert(generation, place);
        place
    }

    /// Whether an object is one of these.
    pub(super) fn has(&self, generation: Generation) -> bool {
        self.places.contains_key(&generation)
    }

    /// How many objects these are.
    pub(super) fn len(&self) -> usize {
        self.touched.len()
    }

    /// How many references this process has to an object.
    pub(super) fn held(&self, generation: Generation) -> u32 {
        self.places.get(&generation).map_or(0, |place| self.touched[*place].held)
    }

    /// Forgets an object.
    pub(super) fn remove(&mut self, generation: Generation) {
        if let Some(place) = self.places.remove(&generation) {
            self.touched.remove(place);
        }
    }

    /// Keeps only those that `keep` says.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Generation, &mut Touched) -> bool) {
        let Objects { places, touched, .. } = self;
        touched.retain(|_, touched| {
            let is_kept = keep(touched.generation, touched);
            if !is_kept {
                places.remove(&touched.generation);
            }
            is_kept
        });
    }
}

/// Which objects had the handles that were asked for last, as long as nothing is told that could change it.
#[derive(Default)]
pub(super) struct Handles([Asked; LATEST]);

#[derive(Clone, Copy)]
struct Asked {
    /// [`crate::ledger::FileState::changes`] at the time.
    changes: u64,
    kind: Kind,
    handle: u32,
    current: Current,
}

impl Handles {
    /// The object of a handle as of so many changes: known, or found by `find`.
    #[inline]
    pub(super) fn get(
        &mut self,
        (kind, handle): (Kind, u32),
        changes: u64,
        find: impl FnOnce() -> Option<Current>,
    ) -> Option<Current> {
        let asked = &mut self.0[(handle ^ handle >> 4) as usize % LATEST];
        if (asked.changes, asked.kind, asked.handle) != (changes, kind, handle) {
            *asked = Asked { changes, kind, handle, current: find()? };
        }
        Some(asked.current)
    }
}

impl Default for Asked {
    /// As of a time that never was.
    fn default() -> Self {
        let (alive, seen, exported) = (false, false, false);
        let current = Current { generation: Generation::default(), alive, seen, exported, second_id: None };
        Asked { changes: u64::MAX, kind: Kind::Pd, handle: 0, current }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        Generation(number)
    }

    #[test]
    fn objects_that_share_an_entry_are_not_mixed_up() {
        let mut objects = Objects::default();
        for number in 0..64 {
            objects.get_or_add(generation(number)).held = number as u32;
        }
        for number in (0..64).chain((0..64).rev()) {
            assert_eq!(objects.get_mut(generation(number)).map(|touched| touched.held), Some(number as u32));
            assert_eq!(objects.held(generation(number)), number as u32);
        }
        assert!(objects.get_mut(generation(64)).is_none());
    }

    #[test]
    fn what_was_found_last_is_not_found_once_it_is_gone() {
        let mut objects = Objects::default();
        objects.get_or_add(generation(1)).held = 7;
        objects.remove(generation(1));
        assert!(objects.get_mut(generation(1)).is_none() && !objects.has(generation(1)));
        // Another takes its place.
        objects.get_or_add(generation(2)).held = 8;
        assert!(objects.get_mut(generation(1)).is_none());
        assert_eq!(objects.get_or_add(generation(1)).held, 0);
        objects.retain(|generation, _| generation == Generation(2));
        assert!(objects.get_mut(generation(1)).is_none() && !objects.has(generation(1)));
        assert_eq!(objects.held(generation(2)), 8);
    }

    #[test]
    fn a_handle_is_asked_for_again_after_a_change_and_never_for_another() {
        let mut handles = Handles::default();
        let current = |number| Current { generation: generation(number), ..Asked::default().current };
        let mut ask = |which, changes, answer: Option<u64>| {
            handles.get(which, changes, || answer.map(current)).map(|current| current.generation.0)
        };
        assert_eq!(ask((Kind::Pd, 3), 0, None), None);
        assert_eq!(ask((Kind::Pd, 3), 0, Some(1)), Some(1), "what was not there is asked for again");
        assert_eq!(ask((Kind::Pd, 3), 0, Some(2)), Some(1));
        assert_eq!(ask((Kind::Umem, 3), 0, Some(3)), Some(3));
        assert_eq!(ask((Kind::Pd, 3), 0, Some(4)), Some(4));
        assert_eq!(ask((Kind::Pd, 3 + 8 * 17), 0, Some(5)), Some(5));
        assert_eq!(ask((Kind::Pd, 3 + 8 * 17), 1, Some(6)), Some(6));
    }
}
