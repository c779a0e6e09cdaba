//! Objects: their types, their numbers on the device, and what they hold.

use std::os::fd::OwnedFd;

use crate::methods::qp::Queue;

/// The types of objects, in the order of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// Protection domain.
    Pd,
    /// Memory region.
    Mr,
    /// Memory window.
    Mw,
    /// DEVX user memory.
    Umem,
    /// User access region: a doorbell page.
    Uar,
    /// Completion queue.
    Cq,
    /// Queue pair.
    Qp,
    /// Shared receive queue.
    Srq,
    /// Address handle.
    Ah,
    /// Work queue.
    Wq,
    /// Table of work queues.
    Table,
    /// Domain of extended reliable connections.
    Xrcd,
    /// Device memory.
    Dm,
    /// Something that the firmware made.
    Devx,
    /// Steering rule.
    Flow,
    /// Counters of steering rules.
    Counters,
    /// Emulation doorbell.
    Var,
    /// Packet rate.
    Pp,
}

impl Type {
    /// All of them, with their words in counts.
    pub const ALL: [(Type, &str); 18] = [
        (Type::Pd, "pd"),
        (Type::Mr, "mr"),
        (Type::Mw, "mw"),
        (Type::Umem, "umem"),
        (Type::Uar, "uar"),
        (Type::Cq, "cq"),
        (Type::Qp, "qp"),
        (Type::Srq, "srq"),
        (Type::Ah, "ah"),
        (Type::Wq, "wq"),
        (Type::Table, "rwq_ind_table"),
        (Type::Xrcd, "xrcd"),
        (Type::Dm, "dm"),
        (Type::Devx, "devx_obj"),
        (Type::Flow, "flow"),
        (Type::Counters, "counters"),
        (Type::Var, "var"),
        (Type::Pp, "pp"),
    ];
}

/// What is mapped is whole pages.
pub const PAGE: u64 = 4096;
/// Device memory of one device.
pub const DEVICE_MEMORY: u64 = 128 << 10;
/// The size that pieces of device memory are multiples of.
pub const DEVICE_PIECE: u64 = 64;

/// The spaces of numbers that a device gives out. A number is unique in its space, over all device files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// pdns.
    Pd,
    /// UMEM ids.
    Umem,
    /// Memory keys, without their lowest byte: of regions and windows.
    Key,
    /// cqns.
    Cq,
    /// qpns, and those of work queues.
    Qp,
    /// srqns.
    Srq,
    /// Tables of work queues.
    Table,
    /// Domains of extended reliable connections.
    Domain,
    /// Doorbell pages.
    Page,
    /// Packet rates.
    Rate,
    /// Sets of queue counters.
    CounterSet,
    /// States of signatures.
    Signature,
    /// All else that the firmware makes.
    Firmware,
}

impl Space {
    /// The first number, and the one after the last. UMEM ids come from a small range, so that they come back in a test
    /// of some length.
    pub fn range(self) -> (u32, u32) {
        match self {
            Space::Pd => (0x20, 1 << 20),
            Space::Umem => (1, 1 << 18),
            Space::Key => (0x10, 1 << 23),
            Space::Cq | Space::Srq | Space::Table | Space::Domain | Space::Signature | Space::Firmware => {
                (0x10, 1 << 20)
            }
            Space::Qp => (0x40, 1 << 20),
            Space::Page => (1, 1 << 16),
            Space::Rate | Space::CounterSet => (1, 1 << 7),
        }
    }
}

/// What is kept of some types only.
#[derive(Debug, Default)]
pub enum More {
    /// Nothing.
    #[default]
    Nothing,
    /// A memory region's range, and what may be done with it.
    Range { length: u64, iova: u64, access: u32 },
    /// Memory of this length that is mapped at this offset of the device file.
    Mapped { offset: u64, memory: OwnedFd, length: u64 },
    /// A queue pair.
    Queue(Box<Queue>),
    /// The size of a shared receive queue, its limit, and whether it is of an XRC domain.
    Shared { max_wr: u32, max_sge: u32, limit: u32, xrc: bool },
    /// The command that the firmware made something by.
    Made(Vec<u8>),
    /// A work queue's state.
    Receiving { state: u32 },
}

/// An object.
#[derive(Debug)]
pub struct Object {
    /// Its type.
    pub what: Type,
    /// Its number on the device.
    pub number: Option<(Space, u32)>,
    /// The handles of what it was made with, which cannot go before it.
    pub uses: Vec<u32>,
    /// Bytes of the program's memory that it pins.
    pub pinned: u64,
    /// What else is to be kept of it.
    pub more: More,
    /// How many objects were made with it.
    pub users: u32,
}

impl Object {
    /// An object that uses nothing.
    pub fn new(what: Type) -> Self {
        Object { what, number: None, uses: Vec::new(), pinned: 0, more: More::Nothing, users: 0 }
    }

    /// The same with a number.
    pub fn numbered(mut self, space: Space, number: u32) -> Self {
        self.number = Some((space, number));
        self
    }

    /// The same, made with other objects.
    pub fn using(mut self, others: &[(u32, Type)]) -> Self {
        self.uses = others.iter().map(|(handle, _)| *handle).collect();
        self
    }

    /// The same, pinning memory.
    pub fn pinning(mut self, bytes: u64) -> Self {
        self.pinned = bytes;
        self
    }

    /// The same, with what else is to be kept.
    pub fn with(mut self, more: More) -> Self {
        self.more = more;
        self
    }
}
