//! Everything known by address: references and children, in shards so that threads seldom meet.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use verbsguard_lock::{Mutex, MutexGuard};

use super::kept::{Kept, Plain};
use super::{Child, End, Reference, State};
use crate::ledger::Kind;
use crate::site::Site;

/// How many released addresses are remembered in all. Beyond, the oldest are forgotten, and a second release through
/// one of those goes unreported.
pub const REMEMBERED_RELEASES: usize = 65_536;

const SHARDS: usize = 64;

/// What stands at an address.
#[derive(Clone, Debug)]
pub enum Thing {
    /// A reference to a PD or a UMEM, live or remembered as released.
    Reference(Reference),
    /// A child of a PD, or of a context.
    Child(Child),
}

impl Thing {
    /// Its serial.
    pub fn serial(&self) -> u64 {
        match self {
            Thing::Reference(reference) => reference.serial,
            Thing::Child(child) => child.serial,
        }
    }
}

/// One shard of the table. Alone in its cache lines, so that threads at work on two do not disturb each other.
#[repr(align(128))]
#[derive(Default, Debug)]
pub struct Shard {
    things: FxHashMap<usize, Kept>,
    /// Releases in their order; of one address the latest counts.
    released: VecDeque<(usize, u64)>,
    /// How many references that have ended are kept.
    dead: usize,
}

impl Shard {
    /// How many releases are remembered here.
    const REMEMBERED: usize = REMEMBERED_RELEASES / SHARDS;

    /// What stands at `address`: a copy.
    #[inline(always)]
    pub fn get(&self, address: usize) -> Option<Thing> {
        self.things.get(&address).map(Kept::open)
    }

    /// The reference at `address`: a copy.
    #[inline]
    pub fn reference(&self, address: usize) -> Option<Reference> {
        self.things.get(&address)?.reference()
    }

    #[inline]
    fn kept(&mut self, address: usize, serial: u64) -> Option<&mut Kept> {
        self.things.get_mut(&address).filter(|kept| kept.serial() == serial)
    }

    /// Changes the reference at `address`, if it is still the one with this serial.
    pub fn change<R>(&mut self, address: usize, serial: u64, change: impl FnOnce(&mut Reference) -> R) -> Option<R> {
        self.kept(address, serial)?.change(change)
    }

    /// Sets where that reference stands, short of its end.
    #[inline]
    pub fn set_state(&mut self, address: usize, serial: u64, state: State) {
        if let Some(kept) = self.kept(address, serial) {
            kept.set_state(state);
        }
    }

    /// That reference has ended: remembers so, and forgets the oldest such.
    #[inline]
    pub fn end(&mut self, address: usize, serial: u64, end: End, site: Site) {
        let Some(kept) = self.kept(address, serial) else { return };
        let was_dead = kept.is_dead();
        kept.end(end, site);
        if !was_dead {
            self.remember_release(address, serial);
        }
    }

    /// Ends the reference at `address` if it is a live import of a `kind` with nothing unusual about it.
    #[inline]
    pub(super) fn end_import(&mut self, address: usize, kind: Kind, site: Site) -> Option<Plain> {
        let plain = self.things.get_mut(&address)?.plain_mut()?;
        if !plain.is_live_import_of(kind) {
            return None;
        }
        plain.end(End::Unimport, site);
        let ended = *plain;
        self.remember_release(address, ended.serial());
        Some(ended)
    }

    #[inline]
    fn remember_release(&mut self, address: usize, serial: u64) {
        self.dead += 1;
        match self.released.back_mut() {
            // An allocator gives back at once what was freed last.
            Some(last) if last.0 == address => last.1 = serial,
            _ => self.released.push_back((address, serial)),
        }
        if self.dead > Self::REMEMBERED || self.released.len() > 2 * Self::REMEMBERED {
            self.forget_oldest();
        }
    }

    #[cold]
    fn forget_oldest(&mut self) {
        while self.dead > Self::REMEMBERED
            && let Some((address, serial)) = self.released.pop_front()
        {
            if self.is_dead(address, serial) {
                self.things.remove(&address);
                self.dead -= 1;
            }
        }
        if self.released.len() > 2 * Self::REMEMBERED {
            let Shard { things, released, .. } = self;
            released.retain(|(address, serial)| {
                things.get(address).is_some_and(|kept| kept.serial() == *serial && kept.is_dead())
            });
        }
    }

    fn is_dead(&self, address: usize, serial: u64) -> bool {
        self.things.get(&address).is_some_and(|kept| kept.serial() == serial && kept.is_dead())
    }

    /// Puts a thing at `address`. Answers what was there before and has ended without our seeing it.
    pub fn put(&mut self, address: usize, thing: Thing) -> Option<Thing> {
        self.put_kept(address, Kept::of(thing)).as_ref().map(Kept::open)
    }

    /// The same for a packed one.
    #[inline]
    pub(super) fn put_kept(&mut self, address: usize, kept: Kept) -> Option<Kept> {
        let before = match self.things.get_mut(&address) {
            Some(there) => std::mem::replace(there, kept),
            None => {
                self.things.insert(address, kept);
                return None;
            }
        };
        if before.is_dead() {
            self.dead -= 1;
            return None;
        }
        Some(before)
    }

    /// Takes the thing with this serial away.
    pub fn take(&mut self, address: usize, serial: u64) -> Option<Thing> {
        self.kept(address, serial)?;
        let kept = self.things.remove(&address)?;
        self.dead -= usize::from(kept.is_dead());
        Some(kept.open())
    }

    /// All things, with addresses: copies.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Thing)> {
        self.things.iter().map(|(address, kept)| (*address, kept.open()))
    }

    /// Visits all references, to change them, but for whether they live.
    pub fn each_reference(&mut self, mut visit: impl FnMut(usize, &mut Reference)) {
        for (address, kept) in &mut self.things {
            kept.change(|reference| visit(*address, reference));
        }
    }

    /// Keeps only the children that `keep` says.
    pub fn retain_children(&mut self, mut keep: impl FnMut(usize, &Child) -> bool) {
        self.things.retain(|address, kept| match kept {
            Kept::Child(child) => keep(*address, child),
            Kept::Plain(_) | Kept::Whole(_) => true,
        });
    }
}

/// The table.
pub struct Table {
    shards: Vec<Mutex<Shard>>,
}

impl Default for Table {
    fn default() -> Self {
        Table::of((0..SHARDS).map(|_| Shard::default()).collect())
    }
}

impl Table {
    /// Locks the shard of `address`. Hold one shard at a time.
    #[inline]
    pub fn at(&self, address: usize) -> MutexGuard<'_, Shard> {
        // Structs are at least 16 bytes apart; multiply so that the upper bits choose.
        let mixed = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.shards[(mixed >> 58) as usize].lock()
    }

    /// The shards one after the other.
    pub fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(Mutex::lock)
    }

    /// All shards locked at once, for fork.
    pub fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(Mutex::lock).collect()
    }

    /// The same without waiting.
    pub fn try_lock_all(&self) -> Option<Vec<MutexGuard<'_, Shard>>> {
        self.shards.iter().map(Mutex::try_lock).collect()
    }

    /// A table of what another had in its shards.
    pub fn of(shards: Vec<Shard>) -> Table {
        Table { shards: shards.into_iter().map(Mutex::new).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Fate, ReleaseView, release};
    use crate::track::{FileIndex, Mark, Origin};

    fn shard() -> Shard {
        Shard::default()
    }

    fn reference(serial: u64) -> Thing {
        let reference = Reference::new(Kind::Pd, FileIndex(0), 1, Origin::Imported, Mark::default());
        Thing::Reference(Reference { serial, ..reference })
    }

    /// Made and released at `address`.
    fn cycle(shard: &mut Shard, address: usize, serial: u64) {
        assert!(shard.put(address, reference(serial)).is_none());
        shard.end(address, serial, End::Unimport, Site::NONE);
    }

    #[test]
    fn the_latest_released_addresses_are_remembered_and_no_more() {
        let mut shard = shard();
        let most = Shard::REMEMBERED;
        for address in 0..3 * most {
            cycle(&mut shard, address, address as u64);
        }
        let kept = (0..3 * most).filter(|address| shard.reference(*address).is_some()).collect::<Vec<_>>();
        assert_eq!(kept, (2 * most..3 * most).collect::<Vec<_>>());
    }

    #[test]
    fn a_busy_address_does_not_push_others_out() {
        let mut shard = shard();
        cycle(&mut shard, 1, 1);
        for round in 0..10 * Shard::REMEMBERED {
            cycle(&mut shard, 2 + round % 2, 2 + round as u64);
        }
        assert!(shard.reference(1).is_some_and(|released| !released.is_live()));
        assert!(shard.released.len() <= 2 * Shard::REMEMBERED);
        assert_eq!(shard.dead, 3);
    }

    #[test]
    fn the_living_are_never_forgotten() {
        let mut shard = shard();
        shard.put(1, reference(1));
        cycle(&mut shard, 2, 2);
        // The address is in use again.
        shard.put(2, reference(3));
        for address in 3..3 + 3 * Shard::REMEMBERED {
            cycle(&mut shard, address, address as u64 + 1);
        }
        for (address, serial) in [(1, 1), (2, 3)] {
            assert!(shard.reference(address).is_some_and(|now| now.is_live() && now.serial == serial));
        }
    }

    #[test]
    fn what_was_taken_away_is_not_counted() {
        let mut shard = shard();
        cycle(&mut shard, 1, 1);
        assert!(shard.take(1, 2).is_none());
        assert!(shard.take(1, 1).is_some());
        assert_eq!(shard.dead, 0);
        assert!(shard.put(1, reference(3)).is_none());
        assert!(shard.put(1, reference(4)).is_some_and(|before| before.serial() == 3), "it was live");
    }

    /// All references in a state, of a kind, so born, that could be kept small.
    fn plain_references() -> Vec<Reference> {
        let ends = [End::Unimport, End::Destroy];
        let states = ends.into_iter().flat_map(|end| [State::Dying(end), State::Released(end)]).chain([State::Live]);
        let all = states.flat_map(|state| [(state, Kind::Pd), (state, Kind::Umem)]);
        let all = all.flat_map(|(state, kind)| [(state, kind, Origin::Owned), (state, kind, Origin::Imported)]);
        let all = all.flat_map(|of| [(of, 0), (of, 1), (of, 2), (of, 3)]);
        let reference = |((state, kind, origin), flags)| Reference {
            state,
            context_closed: flags & 1 != 0,
            ignored: flags & 2 != 0,
            ..Reference::new(kind, FileIndex(0), 1, origin, Mark::default())
        };
        all.map(reference).collect()
    }

    #[test]
    fn what_ends_at_once_is_what_nothing_can_be_said_about() {
        let mut ended = 0;
        for reference in plain_references() {
            let mut shard = shard();
            shard.put(1, Thing::Reference(reference.clone()));
            let [right, wrong] = [reference.kind, reference.kind.other()];
            assert!(shard.end_import(1, wrong, Site(5)).is_none());
            if shard.end_import(1, right, Site(5)).is_none() {
                continue;
            }
            ended += 1;
            for fate in [Fate::Unknown, Fate::Alive, Fate::Dead { replaced: false }, Fate::Dead { replaced: true }] {
                for (others, fatal_children) in [(false, false), (true, false), (false, true)] {
                    let view = ReleaseView { reference: &reference, fate, others, fatal_children };
                    assert_eq!(release(&view, End::Unimport), Vec::new(), "{reference:?}");
                }
            }
            let after = shard.reference(1).expect("remembered");
            assert_eq!((after.state, after.ended), (State::Released(End::Unimport), Site(5)));
            assert_eq!(shard.dead, 1);
            assert!(shard.end_import(1, right, Site(5)).is_none(), "not a second time");
        }
        assert_eq!(ended, 4 + 2, "live imports of UMEMs, and those of PDs whose context is open");
    }

    #[test]
    fn what_is_unusual_is_not_ended_at_once() {
        let plain = Reference::new(Kind::Umem, FileIndex(0), 1, Origin::Imported, Mark::default());
        for reference in [
            Reference { name: Some("x".into()), ..plain.clone() },
            Reference { unwatched: true, ..plain.clone() },
            Reference { children: 1, ..plain.clone() },
        ] {
            let mut shard = shard();
            shard.put(1, Thing::Reference(reference));
            assert!(shard.end_import(1, Kind::Umem, Site(5)).is_none());
            assert!(shard.end_import(2, Kind::Umem, Site(5)).is_none());
        }
    }
}
