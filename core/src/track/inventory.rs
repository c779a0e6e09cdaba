//! What is alive now, for the summary, `verbsguard_get_stats` and `verbsguard_dump`; names and exemptions.

use std::sync::Arc;

use super::patience::read;
use super::{Child, ChildKind, Context, Death, Reference, Thing, Tracker};
use crate::ledger::Kind;

/// Live things by type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Open contexts.
    pub contexts: u64,
    /// Live PD references.
    pub pds: u64,
    /// Live UMEM references.
    pub umems: u64,
    /// Children, by type.
    pub children: [u64; ChildKind::ALL.len()],
}

impl Totals {
    /// Live children of a type.
    pub fn of(&self, kind: ChildKind) -> u64 {
        self.children[kind as usize]
    }
}

/// One live thing.
#[derive(Clone, Debug)]
pub enum Live {
    /// An open context.
    Context(usize, Context),
    /// A live reference.
    Reference(usize, Reference),
    /// A child of a PD, or of a context.
    Child(usize, Child),
}

impl Live {
    /// Whether it is an open context whose device file has this descriptor.
    pub fn has_cmd_fd(&self, fd: i32) -> bool {
        matches!(self, Live::Context(_, context) if context.cmd_fd == fd)
    }
}

impl Tracker {
    /// Counts what is alive.
    pub fn totals(&self) -> Totals {
        let contexts = read(&self.contexts).iter().filter(|(_, context)| context.is_open()).count() as u64;
        let mut totals = Totals { contexts, ..Totals::default() };
        for shard in self.table.shards() {
            for (_, thing) in shard.iter() {
                match thing {
                    Thing::Reference(reference) if !reference.is_live() => {}
                    Thing::Reference(reference) if reference.kind == Kind::Pd => totals.pds += 1,
                    Thing::Reference(_) => totals.umems += 1,
                    Thing::Child(child) => totals.children[child.kind as usize] += 1,
                }
            }
        }
        totals
    }

    /// All that is alive, contexts first, then in the order of birth.
    pub fn live(&self) -> Vec<Live> {
        let mut contexts: Vec<_> = {
            let contexts = read(&self.contexts);
            contexts.iter().filter(|(_, context)| context.is_open()).map(|(at, found)| (at, found.clone())).collect()
        };
        contexts.sort_by_key(|(_, context)| context.id);
        let mut things = Vec::new();
        for shard in self.table.shards() {
            things.extend(shard.iter().filter(|(_, thing)| is_live(thing)));
        }
        things.sort_by_key(|(_, thing)| thing.serial());
        let contexts = contexts.into_iter().map(|(at, context)| Live::Context(at, context));
        let things = things.into_iter().map(|(at, thing)| match thing {
            Thing::Reference(reference) => Live::Reference(at, reference),
            Thing::Child(child) => Live::Child(at, child),
        });
        contexts.chain(things).collect()
    }

    /// How the object of `reference` died, where that is known.
    pub fn death_of(&self, reference: &Reference) -> Option<Death> {
        self.file(reference.file)?.death(reference.kind, reference.generation?)
    }

    /// Gives the live reference at `address` a name for reports. False if there is none.
    pub fn name(&self, address: usize, name: Arc<str>) -> bool {
        self.change(address, |reference| reference.name = Some(name))
    }

    /// Never reports the live reference at `address` as lost. False if there is none.
    pub fn ignore(&self, address: usize) -> bool {
        self.change(address, |reference| reference.ignored = true)
    }

    fn change(&self, address: usize, change: impl FnOnce(&mut Reference)) -> bool {
        let mut shard = self.table.at(address);
        let Some(now) = shard.reference(address).filter(Reference::is_live) else { return false };
        shard.change(address, now.serial, change).is_some()
    }
}

fn is_live(thing: &Thing) -> bool {
    match thing {
        Thing::Reference(reference) => reference.is_live(),
        Thing::Child(_) => true,
    }
}
