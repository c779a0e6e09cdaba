//! A device: what its device files share.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::locks::Locks;
use crate::object::{DEVICE_MEMORY, DEVICE_PIECE, More, Object, Space, Type};
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
    /// Its port is one of Ethernet, not of InfiniBand.
    pub is_ethernet: bool,
    /// Requests that are to fail next: kind and errno.
    pub faults: Vec<(String, i32)>,
    /// Numbers that were freed are given out again at once.
    pub reuses: bool,
    numbers: BTreeMap<Space, Numbers>,
    /// The domains that were opened with a file.
    domains: BTreeMap<(u64, u64), u32>,
    /// Bytes of device memory in use.
    memory: u64,
}

/// Numbers that are unique in a device; a freed one may come back, but not at once.
#[derive(Debug, Default)]
struct Numbers {
    /// Each with how many objects share it.
    used: BTreeMap<u32, u32>,
    last: u32,
}

impl Numbers {
    /// The lowest that is free.
    fn take_lowest(&mut self, (first, end): (u32, u32)) -> Answer<u32> {
        let free = (first..end).find(|number| !self.used.contains_key(number)).ok_or(libc::ENOMEM)?;
        self.used.insert(free, 1);
        Ok(free)
    }

    /// ENOMEM where all are in use.
    fn take(&mut self, (first, end): (u32, u32)) -> Answer<u32> {
        if self.used.len() >= (end - first) as usize {
            return Err(libc::ENOMEM);
        }
        loop {
            self.last = if self.last < first || self.last + 1 >= end { first } else { self.last + 1 };
            if let Entry::Vacant(free) = self.used.entry(self.last) {
                free.insert(1);
                return Ok(self.last);
            }
        }
    }

    /// Whether nobody has it any more.
    fn give_back(&mut self, number: u32) -> bool {
        match self.used.get_mut(&number) {
            Some(sharers @ 2..) => {
                *sharers -= 1;
                false
            }
            _ => self.used.remove(&number).is_some(),
        }
    }
}

impl Device {
    /// A number that no live object of this device has. ENOMEM where all are in use.
    pub fn new_number(&mut self, space: Space) -> Answer<u32> {
        let numbers = self.numbers.entry(space).or_default();
        if self.reuses { numbers.take_lowest(space.range()) } else { numbers.take(space.range()) }
    }

    /// The same number for one more object.
    pub fn share_number(&mut self, space: Space, number: u32) -> u32 {
        *self.numbers.entry(space).or_default().used.entry(number).or_default() += 1;
        number
    }

    /// The domain that was opened with this file.
    pub fn domain(&self, file: (u64, u64)) -> Option<u32> {
        self.domains.get(&file).copied()
    }

    /// The file that a domain is opened with.
    pub fn name_domain(&mut self, file: (u64, u64), number: u32) {
        self.domains.insert(file, number);
    }

    /// So many bytes of device memory. ENOMEM where there are not so many left.
    pub fn take_memory(&mut self, bytes: u64) -> Answer<()> {
        if self.memory + bytes > DEVICE_MEMORY {
            return Err(libc::ENOMEM);
        }
        self.memory += bytes;
        Ok(())
    }

    /// Gives back what an object had of the device.
    pub fn forget(&mut self, object: &Object) {
        if let Some((space, number)) = object.number {
            let is_free = self.numbers.entry(space).or_default().give_back(number);
            if is_free && space == Space::Domain {
                self.domains.retain(|_, domain| *domain != number);
            }
        }
        if let (Type::Dm, More::Mapped { length, .. }) = (object.what, &object.more) {
            self.memory -= length.next_multiple_of(DEVICE_PIECE);
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
        let (mut contexts, mut objects) = (0, BTreeMap::<Type, u64>::new());
        for ufile in self.ufiles.values().filter(|ufile| !ufile.is_dead) {
            contexts += u64::from(ufile.context.is_some());
            for object in ufile.objects() {
                *objects.entry(object.what).or_default() += 1;
            }
        }
        let count = |(what, word): &(Type, &'static str)| (*word, objects.get(what).copied().unwrap_or(0));
        Type::ALL.iter().map(count).chain([("context", contexts)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_unique_and_run_out() {
        let mut numbers = Numbers::default();
        let taken: BTreeSet<u32> = (0..5).map(|_| numbers.take((3, 8)).unwrap()).collect();
        assert_eq!(taken, BTreeSet::from([3, 4, 5, 6, 7]));
        assert_eq!(numbers.take((3, 8)), Err(libc::ENOMEM));
        assert!(numbers.give_back(5));
        assert_eq!(numbers.take((3, 8)), Ok(5));
    }

    #[test]
    fn a_shared_number_is_free_when_its_last_sharer_goes() {
        let mut device = Device::default();
        let domain = || Object::new(Type::Xrcd);
        let number = device.new_number(Space::Domain).unwrap();
        device.name_domain((1, 2), number);
        assert_eq!(device.domain((1, 2)), Some(device.share_number(Space::Domain, number)));
        device.forget(&domain().numbered(Space::Domain, number));
        assert_eq!(device.domain((1, 2)), Some(number));
        device.forget(&domain().numbered(Space::Domain, number));
        assert_eq!(device.domain((1, 2)), None);
    }

    #[test]
    fn a_freed_number_comes_back_late() {
        let mut device = Device::default();
        let first = device.new_number(Space::Umem).unwrap();
        device.forget(&Object::new(Type::Umem).numbered(Space::Umem, first));
        assert_ne!(device.new_number(Space::Umem), Ok(first));
    }

    #[test]
    fn where_that_is_asked_for_it_comes_back_at_once() {
        let mut device = Device { reuses: true, ..Device::default() };
        let [first, second] = [0; 2].map(|_| device.new_number(Space::Umem).unwrap());
        device.forget(&Object::new(Type::Umem).numbered(Space::Umem, first));
        assert_eq!([0; 2].map(|_| device.new_number(Space::Umem)), [Ok(first), Ok(second + 1)]);
    }
}
