//! What hangs on a PD: objects made with a PD reference, which keep the kernel's PD busy.

use super::{ContextId, Mark};
use crate::ledger;

/// The type of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildKind {
    /// Memory region, registered or imported.
    Mr,
    /// Parent domain: local to the library, but it keeps the PD's struct.
    ParentDomain,
}

impl ChildKind {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ChildKind::Mr => "mr",
            ChildKind::ParentDomain => "parent domain",
        }
    }
}

impl From<ChildKind> for ledger::ChildKind {
    fn from(kind: ChildKind) -> Self {
        match kind {
            ChildKind::Mr => ledger::ChildKind::Mr,
            ChildKind::ParentDomain => ledger::ChildKind::ParentDomain,
        }
    }
}

/// One reference of this process, named for good: an address and which use of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Named {
    /// Address of the struct.
    pub address: usize,
    /// Its serial.
    pub serial: u64,
}

/// One child.
#[derive(Clone, Debug)]
pub struct Child {
    /// Unique in this process, from the same count as a reference's.
    pub serial: u64,
    /// What it is.
    pub kind: ChildKind,
    /// Its kernel handle, where it has one.
    pub handle: Option<u32>,
    /// The PD reference it hangs on; None where that was not known.
    pub pd: Option<Named>,
    /// It was made through a parent domain on that PD.
    pub through_parent_domain: bool,
    /// The context it lives in.
    pub context: ContextId,
    /// Birth.
    pub born: Mark,
}
