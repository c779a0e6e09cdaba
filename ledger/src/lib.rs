//! The border of the ledger: device-file identity, shared files, locks.
//!
//! What is written and what it means is in `verbsguard_core::ledger`, which is safe; here is what needs the kernel. How it
//! works: docs/ledger.md.

mod clear;
mod folder;
mod holder;
pub mod identity;
mod journal;
mod memory;
mod read;
pub mod strangers;
mod sys;
mod view;
mod whoami;

use std::mem::ManuallyDrop;

use verbsguard_core::ledger::{Event, FileId, HolderId, Process, Stamp};
use verbsguard_core::site::{Frame, Site};

pub use clear::{clear, is_dead_by};
pub use folder::{Degraded, Folder, auto, before_file_work};
pub use read::{Found, FoundHolder, Glimpse, glimpse_all, open_all};
pub use view::View;
pub use whoami::this_process;

use holder::Life;
use journal::{Epoch, Journal, Told};

/// How many joins make it worth to look for the remains of killed holders.
const TIDY_EVERY: u32 = 32;

/// One device file's ledger, as a holder uses it. All threads of a process use one.
///
/// After fork the child has a copy that does nothing ([`Ledger::is_mine`]): it joins as a holder of its own.
pub struct Ledger {
    folder: Folder,
    id: FileId,
    // Never dropped in a child of fork, which may have something else where the parent's pages were.
    life: ManuallyDrop<Life>,
    objects: Journal,
    references: Journal,
}

impl Ledger {
    /// Joins. `guarded`: this process opened the device file just now, so nothing can have happened before.
    pub fn join(
        directory: &Folder,
        id: &FileId,
        process: &Process,
        guarded: bool,
        stamp: Stamp,
    ) -> Result<Self, Degraded> {
        let folder = directory.device_file(&id.file_name())?;
        let failed = |what: &str, error: &std::io::Error| Degraded::io(what, folder.path(), error);
        let life = Life::begin(&folder, process).map_err(|error| failed("write in", &error))?;
        let me = life.holder();
        let ledger = Ledger {
            objects: Journal::new(&folder, id.number, HolderId(0)),
            references: Journal::new(&folder, id.number, me),
            id: *id,
            life: ManuallyDrop::new(life),
            folder: folder.clone(),
        };
        let opened = Event::Opened { holder: me, stamp, guarded };
        ledger.objects.append(me, &opened, &mut |_| None).map_err(|error| {
            folder.remove(&holder::file_name(me));
            failed("append to the log in", &error)
        })?;
        if me.0 % TIDY_EVERY == 0 {
            // Those that were killed do not leave.
            clear::tidy(&ledger.folder, id);
        }
        Ok(ledger)
    }

    /// This process in this ledger.
    pub fn me(&self) -> HolderId {
        self.life.holder()
    }

    /// Which device file.
    pub fn id(&self) -> &FileId {
        &self.id
    }

    /// False in a child of fork.
    pub fn is_mine(&self) -> bool {
        self.life.is_mine()
    }

    /// A fresh view of it.
    pub fn view(&self) -> View {
        View::new(&self.folder, &self.id, self.me())
    }

    /// Appends an event of this process; answers its sequence number, which is a new object's generation unless an
    /// importer had met the object before ([`FileState::object_told`](verbsguard_core::ledger::FileState::object_told)).
    /// None where it could not be written (a full disk): everybody is told that the history is not whole any more. In a
    /// child of fork nothing is written.
    pub fn append(&self, event: &Event) -> Option<u64> {
        self.append_as(event, &mut |_| None).map(|told| told.seq)
    }

    /// The same where this process has a view of it: it takes in what is told, and what it knows need not be read again.
    pub fn append_seen(&self, event: &Event, view: &mut View) -> Option<u64> {
        let told = self.append_as(event, &mut |full| view.objects_of(full))?;
        if event.is_shared() {
            view.told(event, told, &self.objects);
        }
        Some(told.seq)
    }

    fn append_as(&self, event: &Event, known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>) -> Option<Told> {
        if !self.is_mine() {
            return None;
        }
        let journal = if event.is_shared() { &self.objects } else { &self.references };
        let result = journal.append(self.me(), event, known);
        if result.is_err() {
            self.objects.note_lost();
        }
        result.ok()
    }

    /// Tells others what a site of this process is, before an event names it. Cheap after the first time.
    pub fn tell_stack(&self, site: Site, frames: impl FnOnce() -> Vec<Frame>) {
        if self.is_mine() {
            self.life.tell_stack(&self.folder, site, frames);
        }
    }

    /// Leaves in good order: references not released by now are nobody's. What nobody needs any more is removed; of a
    /// device file that is dead, everything.
    pub fn leave(mut self, stamp: Stamp) {
        if !self.is_mine() {
            return;
        }
        self.append(&Event::Left { holder: self.me(), stamp });
        // SAFETY: it is taken once: `self` ends here, and dropping it does not touch `life`.
        unsafe { ManuallyDrop::take(&mut self.life) }.end();
        clear::tidy(&self.folder, &self.id);
    }
}
