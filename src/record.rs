//! A device file's record in the ledger: what the tracker folds, shared with every guarded process that has the file.

use std::collections::HashMap;
use std::ffi::c_int;

use verbsguard_core::ledger::{Event, FileId, FileState, HolderId, Stamp};
use verbsguard_core::site::{Frame, Site};
use verbsguard_core::track::{HolderFacts, Record};
use verbsguard_ledger::{Degraded, Folder, Ledger, View};

/// One device file's ledger, joined by this process.
pub struct Shared {
    /// None once this process has left.
    ledger: Option<Ledger>,
    view: View,
    me: HolderId,
    known: HashMap<HolderId, HolderFacts>,
    told: Told,
}

/// The sites whose stacks were told: a bit each.
#[derive(Default)]
struct Told(Vec<u64>);

impl Told {
    /// Whether this one was not among them, and has to be told.
    fn insert(&mut self, site: Site) -> bool {
        let (word, bit) = (site.0 as usize / 64, 1 << (site.0 % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = site != Site::NONE && self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

impl Shared {
    /// Joins the ledger of the device file that `cmd_fd` is of. `guarded`: it was opened just now, by this process.
    pub fn join(folder: &Folder, id: &FileId, device: &str, cmd_fd: c_int, guarded: bool) -> Result<Shared, Degraded> {
        let process = verbsguard_ledger::this_process(device, cmd_fd, id);
        let stamp = Stamp { time_ns: crate::world::now(), site: Site::NONE };
        let ledger = Ledger::join(folder, id, &process, guarded, stamp)?;
        let view = ledger.view();
        let me = ledger.me();
        Ok(Shared { ledger: Some(ledger), view, me, known: HashMap::new(), told: Told::default() })
    }
}

impl Record for Shared {
    fn me(&self) -> HolderId {
        self.me
    }

    fn state(&self) -> &FileState {
        self.view.state()
    }

    fn state_mut(&mut self) -> &mut FileState {
        self.view.state_mut()
    }

    fn tell(&mut self, event: &Event) -> Option<u64> {
        let ledger = self.ledger.as_ref()?;
        let site = event.stamp().map_or(Site::NONE, |stamp| stamp.site);
        if self.told.insert(site) {
            ledger.tell_stack(site, || crate::stacks::bare(site));
        }
        // Joining has told that the device file was opened.
        if matches!(event, Event::Opened { .. }) {
            return None;
        }
        let seq = ledger.append_seen(event, &mut self.view);
        if seq.is_none()
            && let Some(guard) = crate::guard::existing()
        {
            guard.world.missed();
        }
        if !matches!(event, Event::Acquired { .. } | Event::Released { .. }) {
            self.view.tell_own(event);
        }
        seq
    }

    fn refresh(&mut self) {
        self.view.refresh();
    }

    fn refresh_all(&mut self) {
        self.view.refresh_all();
    }

    fn is_alive(&mut self, holder: HolderId) -> bool {
        self.view.is_alive(holder)
    }

    fn holder(&mut self, holder: HolderId) -> Option<HolderFacts> {
        if holder == self.me {
            return None;
        }
        if let Some(known) = self.known.get(&holder) {
            return Some(known.clone());
        }
        let process = self.view.process(holder).process?;
        let facts = HolderFacts { pid: process.pid, comm: process.comm };
        self.known.insert(holder, facts.clone());
        Some(facts)
    }

    fn frames(&self, holder: HolderId, site: Site) -> Vec<Frame> {
        crate::stacks::spell(self.view.process(holder).stack(site))
    }

    fn is_shared(&self) -> bool {
        self.ledger.is_some()
    }

    fn others(&mut self) -> Vec<HolderId> {
        let mut others = self.view.others();
        others.retain(|holder| self.view.is_alive(*holder));
        others
    }

    fn leave(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            ledger.leave(Stamp { time_ns: crate::world::now(), site: Site::NONE });
        }
    }
}
