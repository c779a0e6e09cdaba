//! A device: what its device files share.

use std::collections::{BTreeMap, BTreeSet};

use crate::locks::Locks;
use crate::object::{Object, Space, Type};
use crate::ufile::Ufile;
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
    numbers: BTreeMap<Space, Numbers>,
}

/// Numbers that are unique in a device; a freed one may come back, but not at once.
#[derive(Debug, Default)]
struct Numbers {
    used: BTreeSet<u32>,
    last: u32,
}

impl Numbers {
    /// ENOMEM where all are in use.
    fn take(&mut self, (first, end): (u32, u32)) -> Answer<u32> {
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
    /// A number that no live object of this device has. ENOMEM where all are in use.
    pub fn new_number(&mut self, space: Space) -> Answer<u32> {
        self.numbers.entry(space).or_default().take(space.range())
    }

    /// Gives an object's number back.
    pub fn forget(&mut self, object: &Object) {
        if let Some((space, number)) = object.number {
            self.numbers.entry(space).or_default().used.remove(&number);
        }
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
        let mut counts: BTreeMap<_, _> = Type::ALL.iter().map(|what| (what.word(), 0)).collect();
        counts.insert("context", 0);
        for ufile in self.ufiles.values().filter(|ufile| !ufile.is_dead) {
            *counts.entry("context").or_default() += u64::from(ufile.context.is_some());
            for object in ufile.objects() {
                *counts.entry(object.what.word()).or_default() += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_run_out() {
        let mut numbers = Numbers::default();
        let taken: BTreeSet<u32> = (0..5).map(|_| numbers.take((3, 8)).unwrap()).collect();
        assert_eq!(taken, BTreeSet::from([3, 4, 5, 6, 7]));
        assert_eq!(numbers.take((3, 8)), Err(libc::ENOMEM));
        numbers.used.remove(&5);
        assert_eq!(numbers.take((3, 8)), Ok(5));
    }

    #[test]
    fn a_freed_number_comes_back_late() {
        let mut device = Device::default();
        let first = device.new_number(Space::Umem).unwrap();
        device.forget(&Object::new(Type::Umem).numbered(Space::Umem, first));
        assert_ne!(device.new_number(Space::Umem), Ok(first));
    }
}
