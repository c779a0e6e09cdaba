//! A device file: one open of a device node, and the objects in it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::wire::Answer;

/// The type of an object, and what is kept of it.
#[derive(Debug)]
pub enum Kind {
    /// Protection domain.
    Pd { pdn: u32 },
    /// Memory region.
    Mr { pd: u32, key: u32, length: u64, iova: u64, pinned: u64 },
    /// Memory window.
    Mw { pd: u32 },
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
            Kind::Mw { .. } => "mw",
            Kind::Umem { .. } => "umem",
            Kind::Uar { .. } => "uar",
        }
    }

    /// The handle of what it was made with, which cannot go before it.
    fn parent(&self) -> Option<u32> {
        match self {
            Kind::Mr { pd, .. } | Kind::Mw { pd } => Some(*pd),
            Kind::Pd { .. } | Kind::Umem { .. } | Kind::Uar { .. } => None,
        }
    }

    fn pinned(&self) -> u64 {
        match self {
            Kind::Mr { pinned, .. } | Kind::Umem { pinned, .. } => *pinned,
            Kind::Pd { .. } | Kind::Mw { .. } | Kind::Uar { .. } => 0,
        }
    }
}

/// An object, and how many were made with it.
#[derive(Debug)]
struct Object {
    kind: Kind,
    children: u32,
}

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
    /// The doorbell pages by the offset they are mapped at.
    pages: BTreeMap<u64, u32>,
    /// The ends that keep asynchronous event descriptors from reading an end of file.
    pub event_sources: Vec<OwnedFd>,
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
    pub fn add(&mut self, kind: Kind) -> u32 {
        let above = || self.objects.last_key_value().map_or(0, |(highest, _)| highest + 1);
        let handle = self.free.pop_first().unwrap_or_else(above);
        if let Kind::Uar { offset, .. } = &kind {
            self.pages.insert(*offset, handle);
        }
        self.pinned += kind.pinned();
        self.count_child(kind.parent(), 1);
        self.objects.insert(handle, Object { kind, children: 0 });
        handle
    }

    fn count_child(&mut self, parent: Option<u32>, change: i32) {
        if let Some(parent) = parent.and_then(|handle| self.objects.get_mut(&handle)) {
            parent.children = parent.children.saturating_add_signed(change);
        }
    }

    /// The object of this handle.
    pub fn get(&self, handle: u32) -> Answer<&Kind> {
        self.objects.get(&handle).map(|object| &object.kind).ok_or(libc::ENOENT)
    }

    /// The pdn of the PD of this handle: ENOENT where there is none, EINVAL where it is something else.
    pub fn pd(&self, handle: u32) -> Answer<u32> {
        match self.get(handle)? {
            Kind::Pd { pdn } => Ok(*pdn),
            _ => Err(libc::EINVAL),
        }
    }

    /// Changes an object, which may get another parent or pin other memory.
    pub fn change<R>(&mut self, handle: u32, act: impl FnOnce(&mut Kind) -> Answer<R>) -> Answer<R> {
        let kind = &mut self.objects.get_mut(&handle).ok_or(libc::ENOENT)?.kind;
        let (parent, pinned) = (kind.parent(), kind.pinned());
        let result = act(kind);
        let (new_parent, new_pinned) = (kind.parent(), kind.pinned());
        self.pinned = self.pinned - pinned + new_pinned;
        self.count_child(parent, -1);
        self.count_child(new_parent, 1);
        result
    }

    /// Destroys an object of the type that `is` knows: EBUSY while others were made with it.
    pub fn destroy(&mut self, handle: u32, is: impl Fn(&Kind) -> bool) -> Answer<Kind> {
        let object = self.objects.get(&handle).ok_or(libc::ENOENT)?;
        if !is(&object.kind) {
            return Err(libc::EINVAL);
        }
        if object.children > 0 {
            return Err(libc::EBUSY);
        }
        let Object { kind, .. } = self.objects.remove(&handle).ok_or(libc::ENOENT)?;
        self.give_back(handle);
        if let Kind::Uar { offset, .. } = &kind {
            self.pages.remove(offset);
        }
        self.pinned -= kind.pinned();
        self.count_child(kind.parent(), -1);
        Ok(kind)
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

    /// The page that is mapped at this offset.
    pub fn page(&self, at: u64) -> Option<&OwnedFd> {
        match self.get(*self.pages.get(&at)?) {
            Ok(Kind::Uar { memory, .. }) => Some(memory),
            _ => None,
        }
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = &Kind> {
        self.objects.values().map(|object| &object.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u32 = 200_000;

    fn mr(pd: u32, pinned: u64) -> Kind {
        Kind::Mr { pd, key: 0, length: pinned, iova: 0, pinned }
    }

    #[test]
    fn handles_are_the_lowest_free_and_reused_at_once() {
        let mut ufile = Ufile::default();
        let handles: Vec<u32> = (0..5).map(|pdn| ufile.add(Kind::Pd { pdn })).collect();
        assert_eq!(handles, [0, 1, 2, 3, 4]);
        for handle in [3, 1, 4] {
            ufile.destroy(handle, |_| true).unwrap();
        }
        let again: Vec<u32> = (0..3).map(|pdn| ufile.add(Kind::Pd { pdn })).collect();
        assert_eq!(again, [1, 3, 4]);
    }

    #[test]
    fn a_pd_is_busy_as_long_as_a_region_hangs_on_it() {
        let mut ufile = Ufile::default();
        let pds = [ufile.add(Kind::Pd { pdn: 1 }), ufile.add(Kind::Pd { pdn: 2 })];
        let region = ufile.add(mr(pds[0], 100));
        assert_eq!(ufile.destroy(pds[0], |_| true).unwrap_err(), libc::EBUSY);
        let moved = ufile.change(region, |kind| {
            *kind = mr(pds[1], 30);
            Ok(())
        });
        moved.unwrap();
        assert_eq!(ufile.pinned(), 30);
        ufile.destroy(pds[0], |_| true).unwrap();
        assert_eq!(ufile.destroy(pds[1], |_| true).unwrap_err(), libc::EBUSY);
        ufile.destroy(region, |_| true).unwrap();
        ufile.destroy(pds[1], |_| true).unwrap();
        assert_eq!((ufile.pinned(), ufile.objects().count(), ufile.free.len()), (0, 0, 0));
    }

    /// Takes minutes where a step looks at every object.
    #[test]
    fn very_many_objects_are_no_trouble() {
        let start = std::time::Instant::now();
        let mut ufile = Ufile::default();
        let pd = ufile.add(Kind::Pd { pdn: 1 });
        for _ in 0..MANY {
            ufile.add(mr(pd, 1));
        }
        assert_eq!(ufile.pinned(), u64::from(MANY));
        for handle in 1..=MANY {
            ufile.destroy(handle, |_| true).unwrap();
        }
        ufile.destroy(pd, |_| true).unwrap();
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
