//! A device: what its device files share.

use std::collections::{BTreeMap, BTreeSet};

use crate::locks::Locks;
use crate::ufile::{Kind, Ufile};
use crate::wire::Answer;

/// One device.
#[derive(Debug, Default)]
pub struct Device {
    /// Its open device files.
    pub ufiles: BTreeMap<u64, Ufile>,
    locks: Locks,
    /// It was removed.
    pub removed: bool,
    /// Requests that are to fail next: kind and errno.
    pub faults: Vec<(String, i32)>,
    pdns: Numbers,
    umem_ids: Numbers,
    keys: u32,
}

/// Numbers that are unique in a device; a freed one may come back, but not at once.
#[derive(Debug, Default)]
struct Numbers {
    used: BTreeSet<u32>,
    last: u32,
}

impl Numbers {
    /// ENOMEM where all are in use.
    fn take(&mut self, first: u32, end: u32) -> Answer<u32> {
        if self.used.len() >= (end - first) as usize {
            return Err(libc::ENOMEM);
        }
        loop {
            self.last = if self.last < first || self.last + 1 >= end { first } else { self.last + 1 };
            if self.used.insert(self.last) {
                return Ok(self.last);
            }
        }
    }
}

impl Device {
    /// A number for a PD.
    pub fn new_pdn(&mut self) -> Answer<u32> {
        self.pdns.take(0x20, 1 << 20)
    }

    /// An id for a UMEM. From a small range, so that ids come back in a test of some length.
    pub fn new_umem_id(&mut self) -> Answer<u32> {
        self.umem_ids.take(1, 1 << 18)
    }

    /// Keys of a memory region.
    pub fn new_key(&mut self) -> u32 {
        self.keys = (self.keys + 1) & 0x7f_ffff;
        0x1000 + (self.keys << 8)
    }

    /// Gives an object's number back.
    pub fn forget(&mut self, object: &Kind) {
        match object {
            Kind::Pd { pdn } => self.pdns.used.remove(pdn),
            Kind::Umem { id, .. } => self.umem_ids.used.remove(id),
            Kind::Mr { .. } | Kind::Mw { .. } | Kind::Uar { .. } => true,
        };
    }

    /// The last descriptor of a device file is gone: its objects go with it, silently, and its locks.
    pub fn close(&mut self, ufile: u64) {
        if let Some(ufile) = self.ufiles.remove(&ufile) {
            for object in ufile.objects() {
                self.forget(object);
            }
        }
        self.locks.drop_description(ufile);
    }

    /// The errno that a request of this kind is to fail with.
    pub fn fault(&mut self, kind: &str) -> Option<i32> {
        let at = self.faults.iter().position(|(of, _)| of == kind)?;
        Some(self.faults.remove(at).1)
    }

    /// The locks on its node. What a process that is gone held is free at once.
    pub fn locks(&mut self) -> &mut Locks {
        let is_closed = |ufile| self.ufiles.get(&ufile).is_none_or(Ufile::is_closed);
        for ufile in self.locks.descriptions() {
            if is_closed(ufile) {
                self.locks.drop_description(ufile);
            }
        }
        &mut self.locks
    }

    /// Live objects by type, contexts included. Those of a removed device are not the kernel's any more.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::from([("context", 0), ("pd", 0), ("mr", 0), ("mw", 0), ("umem", 0), ("uar", 0)]);
        for ufile in self.ufiles.values().filter(|ufile| !ufile.is_dead) {
            *counts.entry("context").or_default() += u64::from(ufile.context.is_some());
            for object in ufile.objects() {
                *counts.entry(object.word()).or_default() += 1;
            }
        }
        counts
    }
}
