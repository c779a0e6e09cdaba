//! What the kernel does, as far as the programs go: handles, reference counts, lifetime. Shares no code with the guard
//! or the emulated device.

use std::collections::{BTreeMap, BTreeSet};

/// An errno value by its name; empty for success.
pub type Answer = &'static str;

/// A kernel object, by a number that is never used twice.
pub type Uid = u32;

/// PD or UMEM: what is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A protection domain.
    Pd,
    /// A DEVX UMEM.
    Umem,
}

/// What stands under a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A PD.
    Pd,
    /// A UMEM, with its id.
    Umem(u32),
    /// A memory region of that PD.
    Mr(Uid),
    /// What each context has one of.
    Uar,
}

impl What {
    fn is_like(self, other: What) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Which kernel is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Gives UMEM ids out again late.
    Emulated,
    /// Gives the lowest free one.
    Real,
}

/// UMEM ids, which are unique in a device. Only whether two are the same matters.
#[derive(Clone, Debug)]
struct Ids {
    device: Device,
    used: BTreeSet<u32>,
    last: u32,
}

impl Ids {
    fn take(&mut self) -> u32 {
        self.last = match self.device {
            Device::Real => (1..).find(|id| !self.used.contains(id)).unwrap_or(0),
            Device::Emulated => self.last + 1,
        };
        self.used.insert(self.last);
        self.last
    }
}

/// An object of a device file.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// Which one.
    pub uid: Uid,
    /// What it is.
    pub what: What,
}

/// The kernel: device files by number, each with one space of handles.
#[derive(Clone, Debug)]
pub struct Kernel {
    files: Vec<BTreeMap<u32, Object>>,
    umem_ids: Ids,
    uids: Uid,
}

impl Kernel {
    /// With nothing open.
    pub fn new(device: Device) -> Kernel {
        Kernel { files: Vec::new(), umem_ids: Ids { device, used: BTreeSet::new(), last: 0 }, uids: 0 }
    }

    /// A new open of the device.
    pub fn open(&mut self) -> usize {
        self.files.push(BTreeMap::new());
        self.files.len() - 1
    }

    /// The last descriptor of a device file is gone.
    pub fn close(&mut self, file: usize) {
        for object in std::mem::take(&mut self.files[file]).into_values() {
            self.forget(object.what);
        }
    }

    fn forget(&mut self, what: What) {
        if let What::Umem(id) = what {
            self.umem_ids.used.remove(&id);
        }
    }

    /// Makes an object under the lowest free handle.
    pub fn create(&mut self, file: usize, what: impl FnOnce(&mut Kernel) -> What) -> (u32, Object) {
        let handle = (0..).find(|handle| !self.files[file].contains_key(handle)).unwrap_or(0);
        self.uids += 1;
        let object = Object { uid: self.uids, what: what(self) };
        self.files[file].insert(handle, object);
        (handle, object)
    }

    /// A new UMEM's id.
    pub fn umem_id(&mut self) -> What {
        What::Umem(self.umem_ids.take())
    }

    /// What a call finds that names this handle as one of a kind (numbers in `like` do not matter).
    pub fn find(&self, file: usize, handle: u32, like: What) -> Result<Object, Answer> {
        match self.files[file].get(&handle) {
            None => Err("ENOENT"),
            Some(object) if !object.what.is_like(like) => Err("EINVAL"),
            Some(object) => Ok(*object),
        }
    }

    /// Destroys what has this handle, if it is of the kind and not in use.
    pub fn destroy(&mut self, file: usize, handle: u32, like: What) -> Result<Object, Answer> {
        let found = self.find(file, handle, like)?;
        if self.files[file].values().any(|object| object.what == What::Mr(found.uid)) {
            return Err("EBUSY");
        }
        self.files[file].remove(&handle);
        self.forget(found.what);
        Ok(found)
    }

    /// How many objects like this live, in all device files.
    pub fn count(&self, like: What) -> usize {
        self.files.iter().flat_map(BTreeMap::values).filter(|object| object.what.is_like(like)).count()
    }
}
