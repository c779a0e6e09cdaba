//! A device file: one open of a device node, and the objects in it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::channel::Channels;
use crate::object::{More, Object, Type};
use crate::wire::Answer;

/// One device file.
#[derive(Debug, Default)]
pub struct Ufile {
    /// A context was made on it; whether with DEVX.
    pub context: Option<bool>,
    /// Its device was removed while it was open.
    pub is_dead: bool,
    /// The flags it was opened with.
    pub flags: i32,
    /// Our end of its connection.
    connection: Option<Arc<OwnedFd>>,
    objects: BTreeMap<u32, Object>,
    /// Handles below the highest that were given back.
    free: BTreeSet<u32>,
    pinned: u64,
    /// What can be mapped, by its offset.
    mapped: BTreeMap<u64, u32>,
    /// The descriptors that events would be read from.
    pub channels: Channels,
    next_offset: u64,
}

impl Ufile {
    /// The device file behind this connection.
    pub fn of(connection: Arc<OwnedFd>) -> Self {
        Ufile { connection: Some(connection), ..Ufile::default() }
    }

    /// Whether its last descriptor is gone; the thread that serves it may be yet to learn it.
    pub fn is_closed(&self) -> bool {
        let Some(connection) = &self.connection else { return false };
        let mut polled = [PollFd::new(connection.as_fd(), PollFlags::empty())];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Takes an object in under the lowest free handle, of all types together. What it was made with is there.
    pub fn add(&mut self, object: Object) -> u32 {
        let above = || self.objects.last_key_value().map_or(0, |(highest, _)| highest + 1);
        let handle = self.free.pop_first().unwrap_or_else(above);
        if let More::Mapped { offset, .. } = &object.more {
            self.mapped.insert(*offset, handle);
        }
        self.pinned += object.pinned;
        self.count_users(&object.uses, 1);
        self.objects.insert(handle, object);
        handle
    }

    fn count_users(&mut self, used: &[u32], change: i32) {
        for handle in used {
            if let Some(object) = self.objects.get_mut(handle) {
                object.users = object.users.saturating_add_signed(change);
            }
        }
    }

    /// The object of this handle: ENOENT where there is none, EINVAL where it is of another type.
    pub fn find(&self, handle: u32, what: Type) -> Answer<&Object> {
        let object = self.any(handle)?;
        if object.what == what { Ok(object) } else { Err(libc::EINVAL) }
    }

    /// Whether all of these are there, and of these types.
    pub fn find_all(&self, wanted: &[(u32, Type)]) -> Answer<()> {
        wanted.iter().try_for_each(|(handle, what)| self.find(*handle, *what).map(drop))
    }

    /// The object of this handle, of any type.
    pub fn any(&self, handle: u32) -> Answer<&Object> {
        self.objects.get(&handle).ok_or(libc::ENOENT)
    }

    /// What is kept of the object of this handle, to be changed.
    pub fn change(&mut self, handle: u32, what: Type) -> Answer<&mut More> {
        self.find(handle, what)?;
        self.objects.get_mut(&handle).map(|object| &mut object.more).ok_or(libc::ENOENT)
    }

    /// Makes an object use others than those it was made with.
    pub fn set_uses(&mut self, handle: u32, uses: &[u32]) {
        let old = self.objects.get_mut(&handle).map(|object| std::mem::replace(&mut object.uses, uses.to_vec()));
        self.count_users(&old.unwrap_or_default(), -1);
        self.count_users(uses, 1);
    }

    /// Makes an object pin other memory.
    pub fn set_pinned(&mut self, handle: u32, bytes: u64) {
        if let Some(object) = self.objects.get_mut(&handle) {
            self.pinned = self.pinned - object.pinned + bytes;
            object.pinned = bytes;
        }
    }

    /// Destroys an object of this type: EBUSY while others use it.
    pub fn destroy(&mut self, handle: u32, what: Type) -> Answer<Object> {
        if self.find(handle, what)?.users > 0 {
            return Err(libc::EBUSY);
        }
        let object = self.objects.remove(&handle).ok_or(libc::ENOENT)?;
        self.give_back(handle);
        if let More::Mapped { offset, .. } = &object.more {
            self.mapped.remove(offset);
        }
        self.pinned -= object.pinned;
        self.count_users(&object.uses, -1);
        Ok(object)
    }

    /// Free handles above the highest in use need not be remembered.
    fn give_back(&mut self, handle: u32) {
        self.free.insert(handle);
        let end = self.objects.last_key_value().map_or(0, |(highest, _)| highest + 1);
        while self.free.last().is_some_and(|last| *last >= end) {
            self.free.pop_last();
        }
    }

    /// Bytes pinned through it.
    pub fn pinned(&self) -> u64 {
        self.pinned
    }

    /// Where the next doorbell page is mapped.
    pub fn new_offset(&mut self) -> u64 {
        self.next_offset += 4096;
        self.next_offset
    }

    /// The memory that is mapped at this offset, and its length.
    pub fn memory(&self, at: u64) -> Option<(&OwnedFd, u64)> {
        match &self.objects.get(self.mapped.get(&at)?)?.more {
            More::Mapped { memory, length, .. } => Some((memory, *length)),
            _ => None,
        }
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u32 = 200_000;

    fn pd() -> Object {
        Object::new(Type::Pd)
    }

    fn mr(pd: u32, pinned: u64) -> Object {
        Object::new(Type::Mr).using(&[(pd, Type::Pd)]).pinning(pinned)
    }

    #[test]
    fn handles_are_the_lowest_free_and_reused_at_once() {
        let mut ufile = Ufile::default();
        let handles: Vec<u32> = (0..5).map(|_| ufile.add(pd())).collect();
        assert_eq!(handles, [0, 1, 2, 3, 4]);
        for handle in [3, 1, 4] {
            ufile.destroy(handle, Type::Pd).unwrap();
        }
        let again: Vec<u32> = (0..3).map(|_| ufile.add(pd())).collect();
        assert_eq!(again, [1, 3, 4]);
    }

    #[test]
    fn a_pd_is_busy_as_long_as_a_region_hangs_on_it() {
        let mut ufile = Ufile::default();
        let pds = [ufile.add(pd()), ufile.add(pd())];
        let region = ufile.add(mr(pds[0], 100));
        assert_eq!(ufile.destroy(pds[0], Type::Pd).unwrap_err(), libc::EBUSY);
        ufile.set_uses(region, &[pds[1]]);
        ufile.set_pinned(region, 30);
        assert_eq!(ufile.pinned(), 30);
        ufile.destroy(pds[0], Type::Pd).unwrap();
        assert_eq!(ufile.destroy(pds[1], Type::Pd).unwrap_err(), libc::EBUSY);
        assert_eq!(ufile.destroy(region, Type::Pd).unwrap_err(), libc::EINVAL);
        ufile.destroy(region, Type::Mr).unwrap();
        ufile.destroy(pds[1], Type::Pd).unwrap();
        assert_eq!(ufile.destroy(pds[1], Type::Pd).unwrap_err(), libc::ENOENT);
        assert_eq!((ufile.pinned(), ufile.objects().count(), ufile.free.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_used_twice_is_busy_until_its_only_user_goes() {
        let mut ufile = Ufile::default();
        let cq = ufile.add(Object::new(Type::Cq));
        let qp = ufile.add(Object::new(Type::Qp).using(&[(cq, Type::Cq), (cq, Type::Cq)]));
        assert_eq!(ufile.destroy(cq, Type::Cq).unwrap_err(), libc::EBUSY);
        ufile.destroy(qp, Type::Qp).unwrap();
        ufile.destroy(cq, Type::Cq).unwrap();
    }

    /// Takes minutes where a step looks at every object.
    #[test]
    fn very_many_objects_are_no_trouble() {
        let start = std::time::Instant::now();
        let mut ufile = Ufile::default();
        let parent = ufile.add(pd());
        for _ in 0..MANY {
            ufile.add(mr(parent, 1));
        }
        assert_eq!(ufile.pinned(), u64::from(MANY));
        for handle in 1..=MANY {
            ufile.destroy(handle, Type::Mr).unwrap();
        }
        ufile.destroy(parent, Type::Pd).unwrap();
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
