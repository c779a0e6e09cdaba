//! Everything known by address: references and children, in shards so that threads seldom meet.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use super::patience::lock;
use super::{Child, Reference};

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

/// One shard of the table.
#[derive(Default, Debug)]
pub struct Shard {
    things: FxHashMap<usize, Thing>,
    released: VecDeque<(usize, u64)>,
}

impl Shard {
    /// What stands at `address`.
    pub fn get(&self, address: usize) -> Option<&Thing> {
        self.things.get(&address)
    }

    /// The reference at `address`.
    pub fn reference(&self, address: usize) -> Option<&Reference> {
        match self.things.get(&address) {
            Some(Thing::Reference(reference)) => Some(reference),
            _ => None,
        }
    }

    /// The reference at `address`, to change, if it is still the one with this serial.
    pub fn reference_mut(&mut self, address: usize, serial: u64) -> Option<&mut Reference> {
        match self.things.get_mut(&address) {
            Some(Thing::Reference(reference)) if reference.serial == serial => Some(reference),
            _ => None,
        }
    }

    /// Puts a thing at `address`; what was there before has ended without our seeing it.
    pub fn put(&mut self, address: usize, thing: Thing) -> Option<Thing> {
        self.things.insert(address, thing)
    }

    /// Takes the thing with this serial away.
    pub fn take(&mut self, address: usize, serial: u64) -> Option<Thing> {
        if self.things.get(&address)?.serial() == serial { self.things.remove(&address) } else { None }
    }

    /// Remembers that the reference with this serial has been released, and forgets the oldest such.
    pub fn remember_released(&mut self, address: usize, serial: u64) {
        self.released.push_back((address, serial));
        if self.released.len() > REMEMBERED_RELEASES / SHARDS
            && let Some((address, serial)) = self.released.pop_front()
            && self.reference(address).is_some_and(|old| old.serial == serial && !old.is_live())
        {
            self.things.remove(&address);
        }
    }

    /// All things, with addresses.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Thing)> {
        self.things.iter().map(|(address, thing)| (*address, thing))
    }

    /// All things, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Thing)> {
        self.things.iter_mut().map(|(address, thing)| (*address, thing))
    }

    /// Keeps only what `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(usize, &Thing) -> bool) {
        self.things.retain(|address, thing| keep(*address, thing));
    }
}

/// The table.
#[derive(Debug)]
pub struct Table {
    shards: Vec<Mutex<Shard>>,
}

impl Default for Table {
    fn default() -> Self {
        Table { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Table {
    /// Locks the shard of `address`. Hold one shard at a time.
    pub fn at(&self, address: usize) -> MutexGuard<'_, Shard> {
        // Structs are at least 16 bytes apart; multiply so that the upper bits choose.
        let mixed = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        lock(&self.shards[(mixed >> 58) as usize])
    }

    /// The shards one after the other.
    pub fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }

    /// All shards locked at once, for fork.
    pub fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock).collect()
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
