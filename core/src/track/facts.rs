//! What is known of the objects in a device file.

use std::time::Duration;

use super::inside::Inside;
use super::{DeviceFile, End, HolderFacts, Record};
use crate::check::Fate;
use crate::finding::{HolderInfo, HolderState, Role};
use crate::ledger::{self, ChildKind, EndHow, FileState, Generation, Handle, Kind, ObjectState};
use crate::site::Trace;

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

/// What matters to the end of a reference.
pub(super) struct Standing {
    /// What became of its object.
    pub(super) fate: Fate,
    /// Live references to it are known besides a live one of this process.
    pub(super) others: bool,
    /// The living object that has its handle now.
    pub(super) present: Option<Generation>,
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

impl DeviceFile {
    /// The object that has this handle now, or had it last.
    pub fn current(&self, kind: Kind, handle: u32) -> Option<Current> {
        self.look_at_handle(handle).current(kind, handle)
    }

    /// What became of an object. Of a device that was removed nobody knows, and it does not matter any more.
    pub fn fate(&self, kind: Kind, handle: u32, generation: Generation) -> Fate {
        self.fate_in(&self.look_at(generation), kind, handle, generation)
    }

    fn fate_in(&self, inside: &Inside, kind: Kind, handle: u32, generation: Generation) -> Fate {
        match self.is_gone() {
            true => Fate::Unknown,
            false => fate(inside.record.state(), kind, handle, generation),
        }
    }

    /// What matters to the end of a reference of this process to an object, in one look.
    pub(super) fn standing(&self, kind: Kind, handle: u32, generation: Generation) -> Standing {
        let mut inside = self.look_at_holders(generation);
        let fate = self.fate_in(&inside, kind, handle, generation);
        let present = inside.current(kind, handle).filter(|current| current.alive);
        Standing { fate, others: inside.has_more(generation, 1), present: present.map(|current| current.generation) }
    }

    /// Whether live references to an object are known besides a live one of this process.
    pub fn has_others(&self, generation: Generation) -> bool {
        self.look_at_holders(generation).has_more(generation, 1)
    }

    /// How many live references this process has to an object.
    pub(super) fn held_here(&self, generation: Generation) -> u32 {
        self.look_at(generation).held(generation)
    }

    /// The same, of this process's references none counted.
    pub(super) fn is_referred_elsewhere(&self, generation: Generation) -> bool {
        self.look_at_holders(generation).is_referred_elsewhere(generation)
    }

    /// Which other processes refer to an object, for reports.
    pub fn holders_elsewhere(&self, generation: Generation, now: u64) -> Vec<HolderInfo> {
        let mut inside = self.look_at_holders(generation);
        let me = inside.record.me();
        let references: Vec<_> = inside.record.state().references_of_others(generation, me).copied().collect();
        references.iter().map(|one| holder_info(&mut *inside.record, one, now)).collect()
    }

    /// How an object died, where that is known.
    pub fn death(&self, kind: Kind, generation: Generation) -> Option<Death> {
        let mut inside = self.look_at(generation);
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
        self.look().record.me() == mark.holder
    }

    /// Which other process made an object, and where. None where its birth was not seen.
    pub fn birth(&self, generation: Generation) -> Option<(Option<HolderFacts>, Trace)> {
        let mut inside = self.look_at(generation);
        let born = inside.record.state().object_by_generation(generation).filter(|object| !object.inferred)?.born;
        let who = inside.record.holder(born.holder);
        Some((who, trace(&*inside.record, born)))
    }

    /// The live PD here that has this pdn.
    pub fn of_pdn(&self, pdn: u32) -> Option<Generation> {
        let is_it =
            |object: &&ledger::Object| object.kind == Kind::Pd && object.may_live() && object.second_id == Some(pdn);
        let mut parts = self.look_everywhere();
        parts.find_map(|inside| inside.record.state().objects().find(is_it).map(|object| object.generation))
    }

    /// Whether all that happened in it was told (rules.md, "The history is whole"); strangers are looked for elsewhere.
    pub fn is_whole(&self) -> bool {
        self.look().record.state().whole() && !self.has_gaps()
    }

    /// Whether it is known that something happened in it that was not told.
    pub fn has_gaps(&self) -> bool {
        self.look_everywhere().any(|inside| inside.record.state().is_lost())
    }

    /// The children that other processes have under a PD: who, of which type, and how many.
    pub fn children_elsewhere(&self, pd: Generation) -> Vec<(HolderFacts, ChildKind, u64)> {
        let mut inside = self.look_at_holders(pd);
        let me = inside.record.me();
        let children: Vec<_> = inside.record.state().children_of(pd).filter(|(holder, ..)| *holder != me).collect();
        let named = |(holder, kind, count)| Some((inside.record.holder(holder)?, kind, count));
        children.into_iter().filter_map(named).collect()
    }
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

fn fate(state: &FileState, kind: Kind, handle: u32, generation: Generation) -> Fate {
    let Some(object) = state.object_by_generation(generation) else { return Fate::Unknown };
    if object.may_live() {
        // One that is dying may yet live.
        return Fate::Alive;
    }
    let now = state.object(kind, Handle(handle));
    Fate::Dead { replaced: now.is_some_and(|now| now.generation != generation && now.state == ObjectState::Live) }
}
