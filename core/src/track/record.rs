//! Where the events of a device file go.

use std::fmt;

use crate::ledger::{Event, FileState, HolderId};
use crate::site::{Frame, Site};

/// A holder in the ledger, as reports name it.
#[derive(Clone, Debug)]
pub struct HolderFacts {
    /// Process id, in this process's namespace as far as that is known.
    pub pid: u32,
    /// Command name.
    pub comm: String,
}

/// "pid 4100 (owner)".
impl fmt::Display for HolderFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} ({})", self.pid, self.comm)
    }
}

/// The record of a device file: where its events go, and the state that is their fold. Either this process's own
/// ([`Alone`]), or a log that all its processes read.
pub trait Record: Send {
    /// Which holder this process is.
    fn me(&self) -> HolderId;
    /// What is known, as of the last refresh.
    fn state(&self) -> &FileState;
    /// The same, to count this process's own references in, and to note that it has missed something.
    fn state_mut(&mut self) -> &mut FileState;
    /// Records an event of this process; its place in the order of those about objects, if it is one and was recorded. This
    /// process's own references are for others to know: here they are counted.
    fn tell(&mut self, event: &Event) -> Option<u64>;
    /// Takes in what others told about objects. With nothing new this is cheap.
    fn refresh(&mut self);
    /// The same, and what others told about their references and children.
    fn refresh_all(&mut self);
    /// Whether a holder's process lives.
    fn is_alive(&mut self, holder: HolderId) -> bool;
    /// Who a holder is. None for this process itself, and where it cannot be read.
    fn holder(&mut self, holder: HolderId) -> Option<HolderFacts>;
    /// A stack that another holder took.
    fn frames(&self, holder: HolderId, site: Site) -> Vec<Frame>;
    /// Other processes may tell of this device file.
    fn is_shared(&self) -> bool;
    /// The other holders whose processes live.
    fn others(&mut self) -> Vec<HolderId>;
    /// This process has left the device file.
    fn leave(&mut self);
}

/// The record of a process that sees only itself. A device file may have several, each for its share of the handles: then
/// no two number an event alike.
pub struct Alone {
    state: FileState,
    last: u64,
    step: u64,
}

impl Alone {
    /// One of `parts` records.
    pub(super) fn part(part: usize, parts: usize) -> Self {
        Alone { state: FileState::new(), last: part as u64, step: parts as u64 }
    }
}

impl Record for Alone {
    fn me(&self) -> HolderId {
        HolderId::default()
    }
    fn state(&self) -> &FileState {
        &self.state
    }
    fn state_mut(&mut self) -> &mut FileState {
        &mut self.state
    }
    fn tell(&mut self, event: &Event) -> Option<u64> {
        if !event.is_shared() {
            return None;
        }
        self.last += self.step;
        self.state.apply(self.last, event);
        Some(self.last)
    }
    fn refresh(&mut self) {}
    fn refresh_all(&mut self) {}
    fn is_alive(&mut self, _: HolderId) -> bool {
        true
    }
    fn holder(&mut self, _: HolderId) -> Option<HolderFacts> {
        None
    }
    fn frames(&self, _: HolderId, _: Site) -> Vec<Frame> {
        Vec::new()
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn others(&mut self) -> Vec<HolderId> {
        Vec::new()
    }
    fn leave(&mut self) {}
}
