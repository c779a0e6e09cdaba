//! What happens to shared objects and to references, as processes tell one another.

use serde::{Deserialize, Serialize};

use crate::ledger::child::ChildKind;
use crate::ledger::object::Object;
use crate::site::Site;

/// The two kinds of objects that processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A protection domain.
    Pd,
    /// A user memory registration of mlx5 DEVX.
    Umem,
}

impl Kind {
    /// The word that reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Pd => "pd",
            Kind::Umem => "umem",
        }
    }

    /// The other one: both take their handles from one number space.
    pub const fn other(self) -> Kind {
        match self {
            Kind::Pd => Kind::Umem,
            Kind::Umem => Kind::Pd,
        }
    }
}

/// The kernel's number for an object in its device file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub u32);

/// Tells the objects that had one handle apart: the sequence number of the birth, never used twice in a device file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

/// One guarded process in one device file's ledger. A child of fork is another holder than its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HolderId(pub u32);

/// A reference of one holder; the holder numbers them itself and uses no number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Serial(pub u64);

/// When, and where in the holder's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// CLOCK_REALTIME, nanoseconds since 1970. For people: order comes from sequence numbers.
    pub time_ns: u64,
    /// A stack interned by the holder that the event names.
    pub site: Site,
}

/// What a reference came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The holder allocated or registered the object.
    Owned,
    /// By an import.
    Imported,
    /// By fork.
    Inherited,
}

/// How a reference ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// By unimport: the object was left alone.
    Unimported,
    /// By a successful destroy.
    Destroyed,
    /// Its context was closed, or its process ended in good order, and it was still live.
    Abandoned,
}

/// One event. Object events (up to `Exported`, and `Kept`) have one order for all processes of a device file; reference
/// events are ordered within their holder only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A holder joined. `guarded`: it opened the device file itself, so nothing can have happened before.
    Opened {
        /// Who.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
        /// Opened here and now, and not received from somewhere.
        guarded: bool,
    },
    /// A holder left in good order, or what a dead one left was cleared away.
    Left {
        /// Who.
        holder: HolderId,
        /// When.
        stamp: Stamp,
    },
    /// A process without the guard was seen to hold the device file: from now on nothing is known to be whole.
    Stranger {
        /// Who saw it.
        holder: HolderId,
        /// The stranger's process id as the holder saw it.
        pid: u32,
        /// When.
        stamp: Stamp,
    },
    /// An object was made, or (`seen: false`) met by an importer that finds nothing in the record about it.
    Born {
        /// Its kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// A PD's pdn or a UMEM's id, where it is known.
        second_id: Option<u32>,
        /// Who made or met it.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
        /// Made by this very call.
        seen: bool,
    },
    /// A destroying call is about to be made.
    Dying {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
    },
    /// The destroying call succeeded.
    Destroyed {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
    },
    /// The destroying call failed.
    Revived {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who.
        holder: HolderId,
    },
    /// The kernel answered that there is no such object any more, and nobody told of its end.
    Vanished {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who was answered.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
    },
    /// It was reported that the object lives on without a reference: nobody needs to report it again.
    Mourned {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who reported it.
        holder: HolderId,
    },
    /// The object was exported.
    Exported {
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// Who.
        holder: HolderId,
        /// When and where.
        stamp: Stamp,
    },
    /// A whole object, carried over when a log is rewritten.
    Kept(Object),
    /// A holder got a reference.
    Acquired {
        /// Who.
        holder: HolderId,
        /// The reference's number.
        serial: Serial,
        /// The object's kind.
        kind: Kind,
        /// Its number.
        handle: Handle,
        /// Which one of that number.
        generation: Generation,
        /// What it came from.
        origin: Origin,
        /// When and where.
        stamp: Stamp,
    },
    /// A reference ended.
    Released {
        /// Whose.
        holder: HolderId,
        /// The reference's number.
        serial: Serial,
        /// How.
        how: How,
        /// When and where.
        stamp: Stamp,
    },
    /// A holder made children of a PD (`delta` above 0), or ended some.
    Children {
        /// Who.
        holder: HolderId,
        /// The PD's number.
        pd: Handle,
        /// Which one of that number.
        generation: Generation,
        /// What they are.
        child: ChildKind,
        /// How many more, or fewer.
        delta: i32,
    },
}

impl Event {
    /// Whether it belongs to the order that all processes share; else to its holder's own segment.
    pub const fn is_shared(&self) -> bool {
        !matches!(self, Event::Acquired { .. } | Event::Released { .. } | Event::Children { .. })
    }

    /// When and where, for those that say.
    pub const fn stamp(&self) -> Option<Stamp> {
        match self {
            Event::Opened { stamp, .. }
            | Event::Stranger { stamp, .. }
            | Event::Born { stamp, .. }
            | Event::Dying { stamp, .. }
            | Event::Destroyed { stamp, .. }
            | Event::Vanished { stamp, .. }
            | Event::Exported { stamp, .. }
            | Event::Acquired { stamp, .. }
            | Event::Released { stamp, .. } => Some(*stamp),
            _ => None,
        }
    }

    /// Who tells it.
    pub const fn holder(&self) -> HolderId {
        match self {
            Event::Opened { holder, .. }
            | Event::Left { holder, .. }
            | Event::Stranger { holder, .. }
            | Event::Born { holder, .. }
            | Event::Dying { holder, .. }
            | Event::Destroyed { holder, .. }
            | Event::Revived { holder, .. }
            | Event::Vanished { holder, .. }
            | Event::Mourned { holder, .. }
            | Event::Exported { holder, .. }
            | Event::Acquired { holder, .. }
            | Event::Released { holder, .. }
            | Event::Children { holder, .. } => *holder,
            Event::Kept(object) => object.born.holder,
        }
    }
}
