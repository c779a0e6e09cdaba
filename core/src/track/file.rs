//! A device file as this process sees it: the kernel objects in it, and who refers to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

use super::objects::{Object, Objects};
use super::{ContextId, End, FileIndex, Mark, Origin, Reference};
use crate::check::{Fate, errno};
use crate::ledger::{Generation, Kind};

/// The object that has a handle now, or had it last.
#[derive(Clone, Copy, Debug)]
pub struct Current {
    /// Which of the objects that had this handle.
    pub generation: Generation,
    /// It lives, or is not known to be dead.
    pub alive: bool,
    /// Its birth was seen.
    pub seen: bool,
    /// It was exported.
    pub exported: bool,
    /// The PD's pdn, the UMEM's id.
    pub second_id: Option<u32>,
}

/// A known destruction.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// When and where.
    pub mark: Mark,
    /// By which call.
    pub function: &'static str,
}

impl Death {
    /// "by ibv_dealloc_pd 2.1 s ago".
    pub fn in_words(&self, now: u64) -> String {
        format!("by {} {}", self.function, crate::describe::ago(now, self.mark.time))
    }
}

/// One device file.
pub struct DeviceFile {
    /// Its place in the tracker's list.
    pub index: FileIndex,
    /// The name in reports: short and stable while the file lives.
    pub label: Arc<str>,
    /// It was opened here, under the guard, and not received from elsewhere.
    pub opened_here: bool,
    /// Contexts of this process that are open on it.
    pub open_contexts: AtomicU32,
    gone: AtomicBool,
    objects: Arc<Mutex<Objects>>,
}

impl DeviceFile {
    /// A device file in which nothing is known yet.
    pub fn new(index: FileIndex, label: Arc<str>, opened_here: bool) -> Self {
        DeviceFile {
            index,
            label,
            opened_here,
            open_contexts: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            objects: Arc::default(),
        }
    }

    /// Locks the objects, for fork.
    pub(super) fn lock_objects(&self) -> ArcMutexGuard<RawMutex, Objects> {
        self.objects.lock_arc()
    }

    /// The same without waiting.
    pub(super) fn try_lock_objects(&self) -> Option<ArcMutexGuard<RawMutex, Objects>> {
        self.objects.try_lock_arc()
    }

    /// The same device file in a forked child.
    pub(super) fn inherited(&self, objects: Objects) -> DeviceFile {
        DeviceFile {
            index: self.index,
            label: self.label.clone(),
            opened_here: self.opened_here,
            open_contexts: AtomicU32::new(self.open_contexts.load(Ordering::Relaxed)),
            gone: AtomicBool::new(self.is_gone()),
            objects: Arc::new(Mutex::new(objects)),
        }
    }

    /// Whether a context of this process is open on it.
    pub fn has_open_contexts(&self) -> bool {
        self.open_contexts.load(Ordering::Relaxed) > 0
    }

    /// Whether the device was removed.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Looks at what a call answered: EIO means that the device was removed. True the first time.
    pub fn note_errno(&self, error: i32) -> bool {
        error == errno::EIO && !self.gone.swap(true, Ordering::Relaxed)
    }

    /// An object was made.
    pub fn born(&self, kind: Kind, handle: u32, second_id: Option<u32>, mark: Mark) -> Generation {
        self.objects.lock().born(kind, handle, Object::new(second_id, mark, true))
    }

    /// An import met an object whose birth was not seen.
    pub fn inferred(&self, kind: Kind, handle: u32, second_id: Option<u32>, mark: Mark) -> Generation {
        self.objects.lock().born(kind, handle, Object::new(second_id, mark, false))
    }

    /// A destroy of it is under way.
    pub fn dying(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        self.objects.lock().change(kind, handle, generation, |object| object.dying(mark));
    }

    /// That destroy succeeded.
    pub fn destroyed(&self, kind: Kind, handle: u32, generation: Generation, mark: Mark) {
        self.objects.lock().change(kind, handle, generation, |object| object.destroyed(mark));
    }

    /// That destroy failed.
    pub fn revived(&self, kind: Kind, handle: u32, generation: Generation) {
        self.objects.lock().change(kind, handle, generation, Object::revived);
    }

    /// It was exported.
    pub fn exported(&self, kind: Kind, handle: u32, generation: Generation) {
        self.objects.lock().change(kind, handle, generation, |object| object.exported = true);
    }

    /// A reference to it was born here.
    pub fn acquired(&self, reference: &Reference) {
        let Some(generation) = reference.generation else { return };
        self.objects.lock().change(reference.kind, reference.handle, generation, |object| {
            object.references += 1;
            if reference.origin == Origin::Owned {
                object.owner = Some(reference.context);
            }
        });
    }

    /// A reference to it ended here; `last` is what a report of an orphan would show of it.
    pub fn released(&self, kind: Kind, handle: u32, generation: Generation, last: Option<Reference>) {
        self.objects.lock().released(kind, handle, generation, last);
    }

    /// A reference vanished without our seeing how: nothing is claimed about its object any more.
    pub fn lost_sight(&self, reference: &Reference) {
        let Some(generation) = reference.generation else { return };
        let mut objects = self.objects.lock();
        objects.change(reference.kind, reference.handle, generation, Object::lost_sight);
        objects.released(reference.kind, reference.handle, generation, None);
    }

    /// The object that has this handle now, or had it last.
    pub fn current(&self, kind: Kind, handle: u32) -> Option<Current> {
        self.objects.lock().current(kind, handle)
    }

    /// What became of an object.
    pub fn fate(&self, kind: Kind, handle: u32, generation: Generation) -> Fate {
        self.objects.lock().fate(kind, handle, generation)
    }

    /// The same, and whether live references to it are known besides the one that asks.
    pub fn fate_and_others(&self, kind: Kind, handle: u32, generation: Generation) -> (Fate, bool) {
        let objects = self.objects.lock();
        let others = objects.find(kind, handle, generation).is_some_and(|object| object.references > 1);
        (objects.fate(kind, handle, generation), others)
    }

    /// How many live references of this process there are to an object.
    pub fn references(&self, kind: Kind, handle: u32, generation: Generation) -> u32 {
        self.objects.lock().find(kind, handle, generation).map_or(0, |object| object.references)
    }

    /// How an object died, where that is known.
    pub fn death(&self, kind: Kind, handle: u32, generation: Generation) -> Option<Death> {
        let objects = self.objects.lock();
        let object = objects.find(kind, handle, generation).filter(|object| object.is_dead())?;
        Some(Death { mark: object.ended, function: End::Destroy.function(kind) })
    }

    /// The context of this process that holds the owning reference.
    pub fn owner(&self, kind: Kind, handle: u32, generation: Generation) -> Option<ContextId> {
        self.objects.lock().find(kind, handle, generation)?.owner
    }

    /// Whether a live PD here has this pdn.
    pub fn has_pdn(&self, pdn: u32) -> bool {
        self.objects.lock().has_pdn(pdn)
    }

    /// Live objects to which no reference is left and that were not reported yet, as their last reference was.
    pub fn take_orphans(&self) -> Vec<Reference> {
        self.objects.lock().take_orphans()
    }

    /// How many live objects have no reference left.
    pub fn orphans(&self) -> u64 {
        self.objects.lock().orphans()
    }
}
