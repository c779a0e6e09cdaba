//! What is alive in this process: contexts, references, children, and the device files they belong to.
//!
//! Recording changes state and judges nothing; judging is [`crate::check`]'s. Here the two meet: every operation that
//! can fault comes as `begin_…`, which asks the checks under one shard's lock and marks what is under way, and
//! `finish_…`, which commits or rolls back once the real call has answered.

mod acquire;
mod child;
mod children;
mod clue;
mod context;
mod contexts;
mod facts;
mod file;
mod fork;
mod holders;
mod inside;
mod inventory;
mod kept;
mod leaks;
mod left;
mod parts;
pub mod patience;
mod record;
mod reference;
mod release;
mod serials;
mod table;
mod touched;

pub use acquire::{BirthToken, Newborn};
pub use child::{Child, ChildKind, Named, NewChild, PdObject};
pub use children::{ChildEndToken, ChildToken};
pub use clue::{Clue, Elsewhere, Sighting};
pub use context::{CLOSED_CONTEXTS, Context, ContextOrigin, ContextState, Contexts};
pub use contexts::{CloseToken, Closed, OpenedContext};
pub use facts::{Current, Death};
pub use file::DeviceFile;
pub use fork::{ForkLocks, Inheritance};
pub use holders::Holders;
pub use inside::{Known, Newcomer};
pub use inventory::{Live, Totals};
pub use leaks::{Lost, LostExample, Moment};
pub use left::Left;
pub use record::{HolderFacts, Record};
pub use reference::{ContextId, End, Failure, FileIndex, Here, Mark, Origin, Reference, State};
pub use release::ReleaseToken;
pub use table::{REMEMBERED_RELEASES, Table, Thing};

use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};

use serials::Serials;

use crate::check::{Fault, Policy};
use crate::ledger::{Handle, Kind};

/// What the tracker asks of the process it is in. Everything here may answer "unknown".
pub trait World: Sync {
    /// A struct stands at the address of a released reference again that names an open context and a plausible
    /// handle: a birth that was not seen.
    fn is_reborn(&self, reference: &Reference, address: usize, open_context: &dyn Fn(usize) -> bool) -> bool;
    /// The PD at `address`, which the provider was asked to unimport, still stands there as it was.
    fn is_intact(&self, reference: &Reference, address: usize) -> bool;
    /// Another process holds this device file: None if that cannot be known.
    fn is_held_elsewhere(&self, file: &DeviceFile) -> Option<bool>;

    /// A process that is not in the device file's record holds it: None if that cannot be known.
    fn is_held_by_strangers(&self, file: &DeviceFile) -> Option<bool>;

    /// A process that would tell, but has not yet, holds it (a forked child, say): None if that cannot be known.
    fn is_held_by_silent(&self, file: &DeviceFile) -> Option<bool>;

    /// Where else on this host a live object of this kind and handle is known, and of this second id where one is given:
    /// one that was exported, then. It may give up when there is too much to look at.
    fn sighted_elsewhere(&self, here: &DeviceFile, which: (Kind, Handle, Option<u32>)) -> Elsewhere;

    /// All processes that hold this device file tell what they have.
    fn tells_everyone(&self, file: &DeviceFile) -> bool {
        self.is_held_by_strangers(file) != Some(true) && self.is_held_by_silent(file) != Some(true)
    }

    /// Everything that could have happened to this device file was seen (rules.md, "The history is whole").
    fn history_is_whole(&self, file: &DeviceFile) -> bool {
        file.is_whole() && self.is_held_by_strangers(file) == Some(false)
    }

    /// The same, and no process holds it that has yet to tell what it has.
    fn sees_everyone(&self, file: &DeviceFile) -> bool {
        self.history_is_whole(file) && self.is_held_by_silent(file) == Some(false)
    }
}

/// What a call is to do, with what there is to report about it.
#[derive(Debug)]
pub struct Verdict<T> {
    /// What was judged, and about what; empty for almost every call.
    pub faults: Vec<(Fault, Subject)>,
    /// The token for `finish_…`, or the errno value to refuse the call with.
    pub outcome: Result<Option<T>, i32>,
}

impl<T> Verdict<T> {
    /// Forward, with nothing to say.
    fn forward(token: Option<T>) -> Self {
        Verdict { faults: Vec::new(), outcome: Ok(token) }
    }
}

/// What a fault is about: a copy of the state, so that it can be told after every lock is gone.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The argument itself, and what is wrong with it.
    Argument(String),
    /// A context.
    Context(usize, Box<Context>),
    /// A reference.
    Reference(usize, Box<Reference>),
    /// A child of a PD, or of a context.
    Child(usize, Box<Child>),
    /// A context, and what was left in it.
    Left(usize, Box<Context>, Box<Left>),
    /// Something that an import names, and what is known of it.
    Elsewhere(Box<Clue>),
}

/// This process, as reports name it.
#[derive(Clone, Debug, Default)]
pub struct Me {
    /// Process id.
    pub pid: u32,
    /// Command name.
    pub comm: String,
}

/// All that is known in this process.
pub struct Tracker {
    /// This process.
    pub me: Me,
    /// The mode and the user's word on single rules.
    pub policy: Policy,
    table: Table,
    contexts: RwLock<Contexts>,
    contexts_version: AtomicU64,
    files: boxcar::Vec<DeviceFile>,
    /// Held while a device file is looked for and added.
    adding: Mutex<()>,
    serials: Serials,
}

impl Tracker {
    /// Knows nothing yet.
    pub fn new(policy: Policy, me: Me) -> Self {
        Tracker {
            me,
            policy,
            table: Table::default(),
            contexts: RwLock::default(),
            contexts_version: AtomicU64::new(contexts::new_version()),
            files: boxcar::Vec::new(),
            adding: Mutex::default(),
            serials: Serials::from(1),
        }
    }

    #[inline]
    fn next_serial(&self) -> u64 {
        self.serials.next()
    }

    /// The device file of this index.
    #[inline]
    pub fn file(&self, index: FileIndex) -> Option<&DeviceFile> {
        self.files.get(index.0 as usize)
    }

    /// All device files met so far.
    pub fn files(&self) -> impl Iterator<Item = &DeviceFile> {
        self.files.iter().map(|(_, file)| file)
    }

    /// Judges by `policy`: what counts, and whether to refuse.
    fn judge(&self, faults: Vec<Fault>) -> (Vec<Fault>, Option<i32>) {
        if faults.is_empty() {
            return (faults, None);
        }
        let faults = self.policy.apply(faults);
        let refusal = self.policy.refusal(&faults);
        (faults, refusal)
    }

    /// A verdict on faults that are all about `subject`, with the token for when the call is forwarded.
    fn verdict<T>(
        &self,
        faults: Vec<Fault>,
        subject: impl Fn() -> Subject,
        token: impl FnOnce() -> Option<T>,
    ) -> Verdict<T> {
        let (faults, refusal) = self.judge(faults);
        let faults = faults.into_iter().map(|fault| (fault, subject())).collect();
        match refusal {
            Some(errno) => Verdict { faults, outcome: Err(errno) },
            None => Verdict { faults, outcome: Ok(token()) },
        }
    }
}
