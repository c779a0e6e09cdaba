//! Who else refers to the objects that a report is about: found for all of them in one pass over the table.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{FileIndex, Origin, Reference, Thing, Tracker};
use crate::finding::{HolderInfo, HolderState, Role};
use crate::ledger::Generation;

/// How many holders a finding lists.
const HOLDERS: usize = 16;

type ObjectKey = (FileIndex, Generation);

fn key(reference: &Reference) -> Option<ObjectKey> {
    Some((reference.file, reference.generation?))
}

/// A reference of this process: born when, its serial, and in what role. The eldest is the least.
type Holder = (u64, u64, Role);

/// The eldest references of this process to some objects.
#[derive(Debug, Default)]
pub struct Holders(FxHashMap<ObjectKey, BinaryHeap<Holder>>);

impl Holders {
    fn see(&mut self, reference: &Reference) {
        let Some(eldest) = key(reference).and_then(|key| self.0.get_mut(&key)) else { return };
        let role = match reference.origin {
            _ if reference.inherited => Role::Heir,
            Origin::Owned => Role::Owner,
            Origin::Imported => Role::Importer,
        };
        eldest.push((reference.born.time, reference.serial, role));
        // One more than is listed: whoever asks is not listed itself.
        if eldest.len() > HOLDERS + 1 {
            eldest.pop();
        }
    }
}

impl Tracker {
    /// Who in this process refers to the objects of these references.
    pub fn holders<'a>(&self, of: impl IntoIterator<Item = &'a Reference>) -> Holders {
        let shared = of.into_iter().filter(|reference| self.is_held_by_more(reference)).filter_map(key);
        let mut holders = Holders(shared.map(|key| (key, BinaryHeap::new())).collect());
        if holders.0.is_empty() {
            return holders;
        }
        for shard in self.table.shards() {
            for (_, thing) in shard.iter() {
                match thing {
                    Thing::Reference(reference) if reference.is_live() => holders.see(&reference),
                    _ => {}
                }
            }
        }
        holders
    }

    /// Whether references of this process besides this one are counted.
    fn is_held_by_more(&self, reference: &Reference) -> bool {
        let own = u32::from(reference.is_live());
        let held = |(file, generation)| self.file(file).map_or(0, |file| file.held_here(generation));
        key(reference).is_some_and(|key| held(key) > own)
    }

    /// Who refers to the object of `reference` besides it, the eldest first; `here` knows those of this process.
    pub(crate) fn others(&self, reference: &Reference, here: &Holders, now: u64) -> Vec<HolderInfo> {
        let Some(key) = key(reference) else { return Vec::new() };
        let mut eldest: Vec<Holder> = here.0.get(&key).into_iter().flatten().copied().collect();
        eldest.retain(|(_, serial, _)| *serial != reference.serial);
        eldest.sort_unstable();
        let age = |time: u64| Some(Duration::from_nanos(now.saturating_sub(time)));
        let info = |(time, _, role)| HolderInfo {
            pid: self.me.pid,
            comm: self.me.comm.clone(),
            role,
            state: HolderState::Holds,
            age: age(time),
        };
        let mut holders: Vec<HolderInfo> = eldest.into_iter().map(info).collect();
        if let Some(file) = self.file(key.0) {
            holders.append(&mut file.holders_elsewhere(key.1, now));
        }
        holders.sort_by_key(|holder| Reverse(holder.age));
        holders.truncate(HOLDERS);
        holders
    }
}
