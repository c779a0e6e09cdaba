//! What hangs on a PD, and what lives in a context without one.

use super::{ContextId, FileIndex, Mark, Reference};
pub use crate::ledger::ChildKind;
use crate::ledger::Generation;

/// One reference of this process, named for good: an address and which use of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Named {
    /// Address of the struct.
    pub address: usize,
    /// Its serial.
    pub serial: u64,
}

/// A kernel PD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PdObject {
    /// Its device file.
    pub file: FileIndex,
    /// Its handle in that.
    pub handle: u32,
    /// Which of the PDs that had this handle.
    pub generation: Generation,
}

impl PdObject {
    /// The one that a reference refers to, where that is known.
    pub fn of(reference: &Reference) -> Option<PdObject> {
        let Reference { file, handle, generation, .. } = *reference;
        generation.map(|generation| PdObject { file, handle, generation })
    }
}

/// What a creating call brought, on a PD or in a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewChild {
    /// Address of the struct.
    pub address: usize,
    /// What it is.
    pub kind: ChildKind,
    /// Its kernel handle, where it has one.
    pub handle: Option<u32>,
    /// The number by which the device knows it: [`ChildKind::number_word`].
    pub number: Option<u32>,
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
    /// The number by which the device knows it.
    pub number: Option<u32>,
    /// The PD reference it hangs on; None where it has none, or that was not known.
    pub pd: Option<Named>,
    /// The kernel's PD behind that.
    pub object: Option<PdObject>,
    /// It was made through a parent domain on that PD.
    pub through_parent_domain: bool,
    /// The context it lives in.
    pub context: ContextId,
    /// Birth.
    pub born: Mark,
}

impl Child {
    /// The provider may read its PD's struct while it goes. Of what was made through a parent domain that holds where the
    /// domain may have given memory or locks.
    pub fn reads_pd(&self) -> bool {
        self.kind.reads_pd() || self.through_parent_domain && self.kind.holds_pd()
    }
}
