//! What was lost: at context close, at exit, on demand. Grouped by rule, creation site and device file.

use rustc_hash::FxHashMap;

use super::{Child, ContextId, DeviceFile, Failure, FileIndex, Mark, Origin, Reference, Tracker, World};
use crate::check::{Fate, Fault, errno};
use crate::ledger::{self, Generation, HolderId, Kind};
use crate::options::Leaks;
use crate::rules::{Rule, Severity};
use crate::site::Site;

/// When leaks are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// `ibv_close_device` of a context succeeded.
    Close,
    /// The process exits.
    Exit,
    /// `verbsguard_check_leaks()`.
    Demand,
}

/// A group of lost things that share a rule, a creation site and a device file.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The judgement.
    pub fault: Fault,
    /// PD or UMEM.
    pub kind: Kind,
    /// Where.
    pub file: FileIndex,
    /// Created here.
    pub site: Site,
    /// And by whom, where that was another process: then `site` is one of its own.
    pub maker: Option<HolderId>,
    /// How many.
    pub count: u64,
    /// Bytes registered in them.
    pub bytes: u64,
    /// The first ones, as examples.
    pub examples: Vec<LostExample>,
}

/// One of a group.
#[derive(Clone, Debug)]
pub struct LostExample {
    /// Address of the struct, 0 where none is left.
    pub address: usize,
    /// The reference, or what is left of it for an object without one.
    pub reference: Reference,
    /// What hung on a PD that could not be deallocated.
    pub children: Vec<(usize, Child)>,
}

/// How many examples a group keeps.
const EXAMPLES: usize = 8;

/// What the things of a group have in common.
type GroupKey = (Rule, Severity, Kind, FileIndex, Site, Option<HolderId>);

#[derive(Default)]
struct Groups {
    lost: Vec<Lost>,
    places: FxHashMap<GroupKey, usize>,
}

impl Groups {
    fn add(&mut self, fault: Fault, address: usize, reference: &Reference) {
        self.add_made_by(None, fault, address, reference);
    }

    fn add_made_by(&mut self, maker: Option<HolderId>, fault: Fault, address: usize, reference: &Reference) {
        let (kind, file, site) = (reference.kind, reference.file, reference.born.site);
        let place = *self.places.entry((fault.rule, fault.severity, kind, file, site, maker)).or_insert_with(|| {
            self.lost.push(Lost { fault, kind, file, site, maker, count: 0, bytes: 0, examples: Vec::new() });
            self.lost.len() - 1
        });
        let group = &mut self.lost[place];
        group.count += 1;
        group.bytes += reference.size;
        if group.examples.len() < EXAMPLES {
            group.examples.push(LostExample { address, reference: reference.clone(), children: Vec::new() });
        }
    }
}

impl Tracker {
    /// What the close of `context` lost.
    pub(super) fn lost_at_close(
        &self,
        context: ContextId,
        file: &DeviceFile,
        lives_on: bool,
        certain: impl Fn() -> bool,
    ) -> Vec<Lost> {
        let mut groups = Groups::default();
        self.each_reference(|address, reference| {
            if reference.context == context && reference.is_live() {
                reference.context_closed = true;
                if reference.may_be_lost() && !file.is_gone() {
                    judge_closed(&mut groups, address, reference, lives_on);
                    if let (Kind::Pd, true, Some(generation)) = (reference.kind, lives_on, reference.generation)
                        && !file.has_others(generation)
                    {
                        self.mourn(reference_lost(true), file, (reference.kind, reference.handle, generation));
                    }
                }
            }
        });
        if lives_on {
            self.add_orphans(&mut groups, file, false, certain);
        }
        self.counted_groups(groups)
    }

    /// What is lost now, without anything ending.
    pub fn lost_on_demand(&self, world: &dyn World) -> Vec<Lost> {
        let mut groups = Groups::default();
        self.each_reference(|address, reference| {
            if reference.may_be_lost() {
                judge_failure(&mut groups, address, reference);
            }
        });
        for file in self.files().filter(|file| file.has_open_contexts()) {
            self.add_orphans(&mut groups, file, false, || world.sees_everyone(file));
        }
        self.counted_groups(groups)
    }

    /// How many objects and references are lost now: told or not.
    pub fn lost_count(&self) -> u64 {
        let mut lost = 0;
        self.each_reference(|_, reference| {
            let closed = reference.context_closed && reference.kind == Kind::Pd;
            lost += u64::from(closed && reference.may_be_lost());
        });
        let open = self.files().filter(|file| file.has_open_contexts());
        lost + open.map(|file| file.orphans()).sum::<u64>()
    }

    /// What the end of this process leaves behind.
    pub fn lost_at_exit(&self, leaks: Leaks, world: &dyn World) -> Vec<Lost> {
        let mut groups = Groups::default();
        let held: Vec<Option<bool>> = self.files().map(|file| world.is_held_elsewhere(file)).collect();
        let held = |file: FileIndex| held.get(file.0 as usize).copied().flatten() == Some(true);
        let mut judged: FxHashMap<_, Option<Fault>> = FxHashMap::default();
        self.each_reference(|_, reference| {
            if let (Some(file), Some(generation)) = (self.present_file(reference.file), reference.generation)
                && is_accounted_for(reference)
            {
                file.tell_orphan(generation);
            }
        });
        self.each_reference(|address, reference| {
            if !reference.may_be_lost() {
                return;
            }
            let Some(file) = self.present_file(reference.file) else { return };
            if file.is_gone() || judge_failure(&mut groups, address, reference) {
                return;
            }
            // References to one object are judged alike, and asking who else holds it takes time. An orphan is told once.
            let mut left = |generation| {
                let key = (file.index, reference.kind, reference.handle, generation);
                if let Some(known) = judged.get(&key) {
                    return *known;
                }
                let fault = left_behind(reference, generation, file, world);
                judged.insert(key, fault.filter(|fault| fault.rule != Rule::ObjectOrphaned));
                fault
            };
            if let Some(fault) = at_exit(reference, held(file.index), leaks, &mut left) {
                if let (Rule::ObjectOrphaned, Some(generation)) = (fault.rule, reference.generation) {
                    self.mourn(fault, file, (reference.kind, reference.handle, generation));
                }
                groups.add(fault, address, reference);
            }
        });
        for file in self.files().filter(|file| file.has_open_contexts() && held(file.index)) {
            self.add_orphans(&mut groups, file, true, || world.sees_everyone(file));
        }
        self.counted_groups(groups)
    }

    /// The device file of this index, as it was met anew if this process had left it in between.
    fn present_file(&self, index: FileIndex) -> Option<&DeviceFile> {
        let file = self.file(index)?;
        if file.has_open_contexts() {
            return Some(file);
        }
        let is_it = |other: &&DeviceFile| other.has_open_contexts() && other.id.is_some() && other.id == file.id;
        Some(self.files().find(is_it).unwrap_or(file))
    }

    /// Objects that live on without a reference, in a device file that lives on.
    fn add_orphans(&self, groups: &mut Groups, file: &DeviceFile, at_end: bool, certain: impl Fn() -> bool) {
        let orphans = file.take_orphans(at_end);
        if orphans.is_empty() {
            return;
        }
        let fault = orphaned(certain());
        for orphan in orphans {
            self.mourn(fault, file, (orphan.kind, orphan.handle.0, orphan.generation));
            let maker = Some(orphan.born.holder).filter(|_| !file.is_mine(orphan.born));
            groups.add_made_by(maker, fault, 0, &remains(file.index, &orphan));
        }
    }

    /// What is about to be reported for certain as lost, no other process needs to report.
    fn mourn(&self, fault: Fault, file: &DeviceFile, (kind, handle, generation): (Kind, u32, Generation)) {
        let certain = |fault: &Fault| fault.severity == Severity::Error;
        if self.policy.0.leaks != Leaks::Off && self.policy.apply(vec![fault]).iter().any(certain) {
            file.mourned(kind, handle, generation);
        }
    }

    fn each_reference(&self, mut visit: impl FnMut(usize, &mut Reference)) {
        for mut shard in self.table.shards() {
            shard.each_reference(&mut visit);
        }
    }

    fn counted_groups(&self, groups: Groups) -> Vec<Lost> {
        let policy = |mut lost: Lost| {
            lost.fault = self.policy.apply(vec![lost.fault]).pop()?;
            if lost.fault.rule == Rule::PdDeallocBusy {
                lost.examples.iter_mut().for_each(|one| one.children = self.children_on(&one.reference));
            }
            Some(lost)
        };
        groups.lost.into_iter().filter_map(policy).collect()
    }
}

/// Errors stand on having seen everything that could have happened to the device file.
fn orphaned(certain: bool) -> Fault {
    let severity = if certain { Severity::Error } else { Severity::Note };
    Fault::forwarded(Rule::ObjectOrphaned, severity)
}

/// A live reference whose context is closed now. UMEMs may still be unimported: they are judged at exit.
fn judge_closed(groups: &mut Groups, address: usize, reference: &mut Reference, lives_on: bool) {
    let told = judge_failure(groups, address, reference);
    if reference.kind == Kind::Pd && (lives_on || !told) {
        groups.add(reference_lost(lives_on), address, reference);
    }
}

fn reference_lost(lives_on: bool) -> Fault {
    let severity = if lives_on { Severity::Error } else { Severity::Warning };
    Fault::forwarded(Rule::ReferenceLost, severity)
}

/// A destroy that failed and was never followed by an end. Answers whether it was told, now or before.
fn judge_failure(groups: &mut Groups, address: usize, reference: &mut Reference) -> bool {
    let Some(failure) = &mut reference.failure else { return false };
    let rule = match reference.kind {
        Kind::Pd if failure.errno == errno::EBUSY => Rule::PdDeallocBusy,
        Kind::Umem => Rule::UmemDeregFailed,
        Kind::Pd => return false,
    };
    let Failure { told, .. } = failure;
    if !std::mem::replace(told, true) {
        groups.add(Fault::forwarded(rule, Severity::Warning), address, reference);
    }
    true
}

/// At exit: a live reference whose loss is told otherwise than by its object, or is not to be told.
fn is_accounted_for(reference: &Reference) -> bool {
    let lost = reference.context_closed && (reference.kind == Kind::Pd || reference.origin == Origin::Imported);
    reference.is_live() && (reference.ignored || !reference.inherited && (reference.failure.is_some() || lost))
}

/// `left` judges a reference to an object that lives on.
fn at_exit(
    reference: &Reference,
    held_elsewhere: bool,
    leaks: Leaks,
    left: &mut dyn FnMut(Generation) -> Option<Fault>,
) -> Option<Fault> {
    let told_at_close = reference.context_closed && reference.kind == Kind::Pd;
    if told_at_close {
        return None;
    }
    if reference.context_closed && reference.origin == Origin::Imported || reference.failure.is_some() {
        return Some(reference_lost(held_elsewhere));
    }
    if !held_elsewhere {
        let severity = if leaks == Leaks::All { Severity::Warning } else { Severity::Note };
        return Some(Fault::forwarded(Rule::HeldAtExit, severity));
    }
    left(reference.generation?)
}

/// What it means that this process ends with `reference` to an object of a device file that others hold.
fn left_behind(reference: &Reference, generation: Generation, file: &DeviceFile, world: &dyn World) -> Option<Fault> {
    match file.fate(reference.kind, reference.handle, generation) {
        Fate::Alive if !file.is_referred_elsewhere(generation) => {
            file.tell_orphan(generation).then(|| orphaned(world.sees_everyone(file)))
        }
        Fate::Alive | Fate::Unknown => Some(Fault::forwarded(Rule::LeftToOthers, Severity::Note)),
        Fate::Dead { .. } => Some(Fault::forwarded(Rule::HeldAtExit, Severity::Note)),
    }
}

/// What a report shows of an object to which no reference is left.
fn remains(file: FileIndex, object: &ledger::Object) -> Reference {
    let born = Mark { site: object.born.stamp.site, time: object.born.stamp.time_ns };
    Reference {
        generation: Some(object.generation),
        second_id: object.second_id,
        ..Reference::new(object.kind, file, object.handle.0, Origin::Owned, born)
    }
}
