//! A device file: one open of a device node, and the objects in it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use crate::wire::Answer;

/// The type of an object, and what is kept of it.
#[derive(Debug)]
pub enum Kind {
    /// Protection domain.
    Pd { pdn: u32 },
    /// Memory region.
    Mr { pd: u32, key: u32, length: u64, iova: u64, pinned: u64 },
    /// DEVX user memory.
    Umem { id: u32, pinned: u64 },
    /// User access region: a doorbell page.
    Uar { offset: u64, memory: OwnedFd },
}

impl Kind {
    /// The word in counts.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Pd { .. } => "pd",
            Kind::Mr { .. } => "mr",
            Kind::Umem { .. } => "umem",
            Kind::Uar { .. } => "uar",
        }
    }

    /// The handle of what it was made with, which cannot go before it.
    fn parent(&self) -> Option<u32> {
        match self {
            Kind::Mr { pd, .. } => Some(*pd),
            Kind::Pd { .. } | Kind::Umem { .. } | Kind::Uar { .. } => None,
        }
    }

    fn pinned(&self) -> u64 {
        match self {
            Kind::Mr { pinned, .. } | Kind::Umem { pinned, .. } => *pinned,
            Kind::Pd { .. } | Kind::Uar { .. } => 0,
        }
    }
}

/// One device file.
#[derive(Debug, Default)]
pub struct Ufile {
    /// A context was made on it; whether with DEVX.
    pub context: Option<bool>,
    /// Its device was removed while it was open.
    pub is_dead: bool,
    objects: BTreeMap<u32, Kind>,
    /// The ends that keep asynchronous event descriptors from reading an end of file.
    pub event_sources: Vec<OwnedFd>,
    next_offset: u64,
}

impl Ufile {
    /// Takes an object in under the lowest free handle, of all types together.
    pub fn add(&mut self, object: Kind) -> u32 {
        let handle = (0..).find(|handle| !self.objects.contains_key(handle)).unwrap_or(u32::MAX);
        self.objects.insert(handle, object);
        handle
    }

    /// The object of this handle.
    pub fn get(&self, handle: u32) -> Answer<&Kind> {
        self.objects.get(&handle).ok_or(libc::ENOENT)
    }

    /// The object of this handle, to change.
    pub fn get_mut(&mut self, handle: u32) -> Answer<&mut Kind> {
        self.objects.get_mut(&handle).ok_or(libc::ENOENT)
    }

    /// The pdn of the PD of this handle: ENOENT where there is none, EINVAL where it is something else.
    pub fn pd(&self, handle: u32) -> Answer<u32> {
        match self.get(handle)? {
            Kind::Pd { pdn } => Ok(*pdn),
            _ => Err(libc::EINVAL),
        }
    }

    /// Destroys an object of the type that `is` knows: EBUSY while others were made with it.
    pub fn destroy(&mut self, handle: u32, is: impl Fn(&Kind) -> bool) -> Answer<Kind> {
        if !is(self.get(handle)?) {
            return Err(libc::EINVAL);
        }
        if self.objects.values().any(|object| object.parent() == Some(handle)) {
            return Err(libc::EBUSY);
        }
        self.objects.remove(&handle).ok_or(libc::ENOENT)
    }

    /// Bytes pinned through it.
    pub fn pinned(&self) -> u64 {
        self.objects.values().map(Kind::pinned).sum()
    }

    /// Where the next doorbell page is mapped.
    pub fn new_offset(&mut self) -> u64 {
        self.next_offset += 4096;
        self.next_offset
    }

    /// The page that is mapped at this offset.
    pub fn page(&self, at: u64) -> Option<&OwnedFd> {
        self.objects.values().find_map(|object| match object {
            Kind::Uar { offset, memory } if *offset == at => Some(memory),
            _ => None,
        })
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &Kind> {
        self.objects.values()
    }
}
