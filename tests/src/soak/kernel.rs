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
    /// A PD, with its pdn.
    Pd(u32),
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
    /// Gives numbers of PDs and UMEMs out again late.
    Emulated,
    /// Gives the lowest free number.
    Real,
}

/// Numbers that are unique in a device.
#[derive(Clone, Debug)]
struct Numbers {
    device: Device,
    used: BTreeSet<u32>,
    next: u32,
}

impl Numbers {
    fn take(&mut self) -> u32 {
        if self.device == Device::Real {
            self.next = (1..).find(|number| !self.used.contains(number)).unwrap_or(0);
        } else {
            self.next += 1;
        }
        self.used.insert(self.next);
        self.next
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
    pdns: Numbers,
    umem_ids: Numbers,
    uids: Uid,
}

impl Kernel {
    /// With nothing open.
    pub fn new(device: Device) -> Kernel {
        let numbers = |next| Numbers { device, used: BTreeSet::new(), next };
        // The emulated device's pdns begin beyond all handles of such a program.
        Kernel { files: Vec::new(), pdns: numbers(0x1f), umem_ids: numbers(0), uids: 0 }
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
        match what {
            What::Pd(pdn) => self.pdns.used.remove(&pdn),
            What::Umem(id) => self.umem_ids.used.remove(&id),
            What::Mr(_) | What::Uar => true,
        };
    }

    /// Makes an object under the lowest free handle.
    pub fn create(&mut self, file: usize, what: impl FnOnce(&mut Kernel) -> What) -> (u32, Object) {
        let handle = (0..).find(|handle| !self.files[file].contains_key(handle)).unwrap_or(0);
        self.uids += 1;
        let object = Object { uid: self.uids, what: what(self) };
        self.files[file].insert(handle, object);
        (handle, object)
    }

    /// A new PD's number.
    pub fn pdn(&mut self) -> What {
        What::Pd(self.pdns.take())
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

    /// Whether a live PD of a device file has this pdn.
    pub fn is_pdn(&self, file: usize, number: u32) -> bool {
        self.files[file].values().any(|object| object.what == What::Pd(number))
    }
}
