//! Objects and references as the fold knows them.

use crate::ledger::event::{Generation, Handle, HolderId, Kind, Origin, Serial, Stamp};

/// Who and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Who.
    pub holder: HolderId,
    /// When and where.
    pub stamp: Stamp,
}

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectState {
    /// Alive, as far as is known.
    Live,
    /// A destroying call is under way, or its caller died in it: either is possible.
    Dying,
    /// Dead.
    Destroyed,
}

/// How a death is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndHow {
    /// A holder destroyed it and told so.
    Destroyed,
    /// A holder was destroying it, and its handle was taken by a new object before that holder told the result.
    Overtaken,
    /// Nobody told; the kernel does not know it any more, or its handle belongs to a new object: somebody must have
    /// destroyed it.
    Unseen,
}

/// An object's death, or the destroying call that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How it is known.
    pub how: EndHow,
    /// By whom and when; for an unseen death: who noticed it, by making the object that has the handle now, say.
    pub mark: Mark,
}

/// A shared kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its number.
    pub handle: Handle,
    /// Which one of that number.
    pub generation: Generation,
    /// A PD's pdn or a UMEM's id.
    pub second_id: Option<u32>,
    /// Where it stands.
    pub state: ObjectState,
    /// Who made it; for an inferred one: who met it first.
    pub born: Mark,
    /// Its maker is unknown: an importer met it.
    pub inferred: bool,
    /// It was exported at least once.
    pub exported: bool,
    /// It was reported that it lives on without a reference.
    pub mourned: bool,
    /// Destroying calls under way.
    pub dying: u8,
    /// The death, or the latest destroying call while it is dying.
    pub end: Option<End>,
    /// The sequence number of the birth that its maker told; 0 while inferred.
    pub told: u64,
}

/// More destroying calls than these at one time are not counted.
pub(super) const MOST_DYING: u8 = 15;

impl Object {
    pub(super) fn new(kind: Kind, handle: Handle, seq: u64, second_id: Option<u32>, born: Mark, seen: bool) -> Self {
        Object {
            kind,
            handle,
            generation: Generation(seq),
            second_id,
            state: ObjectState::Live,
            born,
            inferred: !seen,
            exported: false,
            mourned: false,
            dying: 0,
            end: None,
            told: if seen { seq } else { 0 },
        }
    }

    /// Whether it is not known to be dead.
    pub fn may_live(&self) -> bool {
        self.state != ObjectState::Destroyed
    }

    /// Dead because a new object has its handle.
    pub(super) fn replaced(&mut self, by: Mark) {
        self.end = Some(match self.end {
            Some(End { mark, .. }) => End { how: EndHow::Overtaken, mark },
            None => End { how: EndHow::Unseen, mark: by },
        });
        self.state = ObjectState::Destroyed;
        self.dying = 0;
    }

    pub(super) fn dying(&mut self, mark: Mark) {
        if self.may_live() {
            self.dying = (self.dying + 1).min(MOST_DYING);
            self.state = ObjectState::Dying;
            self.end = Some(End { how: EndHow::Destroyed, mark });
        }
    }

    pub(super) fn revived(&mut self) {
        self.dying = self.dying.saturating_sub(1);
        if self.state == ObjectState::Dying && self.dying == 0 {
            self.state = ObjectState::Live;
            self.end = None;
        }
    }

    /// Whether its maker's own word about a second id contradicts what is recorded.
    pub(super) fn contradicts(&self, second_id: Option<u32>) -> bool {
        matches!((self.second_id, second_id), (Some(known), Some(told)) if known != told)
    }
}

/// A live reference of one holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Whose.
    pub holder: HolderId,
    /// Its number.
    pub serial: Serial,
    /// The object's kind.
    pub kind: Kind,
    /// Its number.
    pub handle: Handle,
    /// Which one of that number.
    pub generation: Generation,
    /// What it came from.
    pub origin: Origin,
    /// When and where.
    pub stamp: Stamp,
}
