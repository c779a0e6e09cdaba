//! What is alive on this host.

/// A type of kernel object that processes share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Protection domain.
    Pd,
    /// DEVX user memory.
    Umem,
}

/// Which of the objects that had a handle in a device file, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Generation(pub u32);

impl Generation {
    /// The one after this.
    #[must_use]
    pub fn next(self) -> Generation {
        Generation(self.0.wrapping_add(1))
    }
}
