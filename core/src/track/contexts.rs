//! Opening, importing and closing contexts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::patience::{lock, read, write};
use super::{
    BirthToken, Context, ContextId, ContextOrigin, ContextState, Contexts, DeviceFile, FileIndex, Lost, Mark, Subject,
    Thing, Tracker, Verdict, World,
};
use crate::check::{self, Fault};
use crate::ledger::Kind;
use crate::rules::{Rule, Severity};

/// A context that was just made.
#[derive(Clone, Debug)]
pub struct OpenedContext {
    /// Its address.
    pub address: usize,
    /// The device's name.
    pub device: Arc<str>,
    /// The device file's descriptor.
    pub cmd_fd: i32,
    /// How it came.
    pub origin: ContextOrigin,
}

/// A close under way.
#[derive(Clone, Copy, Debug)]
pub struct CloseToken {
    address: usize,
    id: ContextId,
    file: FileIndex,
    /// The device file is held by others, so it will live on. Asked before the close, while there is a descriptor.
    held_elsewhere: bool,
    /// Nothing can have happened in it that was not told. Asked at the same time, for the same reason.
    certain: bool,
}

/// What a close leaves to be told.
#[derive(Default, Debug)]
pub struct Closed {
    /// References, and objects without any.
    pub lost: Vec<Lost>,
    /// The children that were alive in the context.
    pub left: Vec<(Fault, Subject)>,
}

/// A number that no tracker's contexts have had.
pub(super) fn new_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Tracker {
    /// The device file that `is_it` recognises, or else what `make` makes of the next free index.
    pub fn find_or_add_file(
        &self,
        is_it: impl Fn(&DeviceFile) -> bool,
        make: impl FnOnce(FileIndex) -> DeviceFile,
    ) -> &DeviceFile {
        let _adding = lock(&self.adding);
        // One that this process has left may have become another's, unseen: it is met anew.
        if let Some(file) = self.files().find(|file| file.has_open_contexts() && is_it(file)) {
            return file;
        }
        let place = self.files.push_with(|place| make(FileIndex(u32::try_from(place).unwrap_or(u32::MAX))));
        &self.files[place]
    }

    /// Takes in a context that was just made on `file`.
    pub fn opened(&self, opened: OpenedContext, file: &DeviceFile, mark: Mark) {
        file.open_contexts.fetch_add(1, Ordering::Relaxed);
        file.remember_descriptor(opened.cmd_fd);
        file.opened(opened.origin == ContextOrigin::Opened, mark);
        if opened.origin == ContextOrigin::Adopted {
            file.used_unseen();
        }
        let context = Context {
            id: ContextId::default(),
            file: file.index,
            device: opened.device,
            cmd_fd: opened.cmd_fd,
            origin: opened.origin,
            state: ContextState::Live,
            inherited: false,
            born: mark,
            closed: Mark::default(),
        };
        self.change_contexts(|contexts| contexts.insert(opened.address, context));
    }

    /// Every change of which contexts are open goes through here, so that nobody goes on with what he remembers.
    fn change_contexts<R>(&self, change: impl FnOnce(&mut Contexts) -> R) -> R {
        let mut contexts = write(&self.contexts);
        let answer = change(&mut contexts);
        self.contexts_version.store(new_version(), Ordering::Release);
        answer
    }

    /// Which contexts are open, as a number: while it stays, what [`Tracker::open_context`] answered holds. No other tracker
    /// of this process has the same, and none has 0.
    #[inline]
    pub fn contexts_version(&self) -> u64 {
        self.contexts_version.load(Ordering::Acquire)
    }

    /// The open context at `address`.
    pub fn open_context(&self, address: usize) -> Option<BirthToken> {
        let contexts = read(&self.contexts);
        let context = contexts.get(address).filter(|context| context.is_open())?;
        let adopted = context.origin == ContextOrigin::Adopted;
        Some(BirthToken { context: context.id, address, file: context.file, cmd_fd: context.cmd_fd, adopted })
    }

    /// Whether a context is open at `address`.
    pub fn is_open_context(&self, address: usize) -> bool {
        self.open_context(address).is_some()
    }

    /// The context at `address`, open or remembered as closed.
    pub fn context(&self, address: usize) -> Option<Context> {
        read(&self.contexts).get(address).cloned()
    }

    /// The address of the context that what stands at `address` was made in.
    pub fn context_of(&self, address: usize) -> Option<usize> {
        let context = match self.table.at(address).get(address)? {
            Thing::Reference(reference) => reference.context,
            Thing::Child(child) => child.context,
        };
        self.context_by_id(context).map(|(address, _)| address)
    }

    /// The context of this id.
    pub fn context_by_id(&self, id: ContextId) -> Option<(usize, Context)> {
        let contexts = read(&self.contexts);
        contexts.iter().find(|(_, context)| context.id == id).map(|(address, context)| (address, context.clone()))
    }

    /// The descriptors of the device files that are open here.
    pub fn open_descriptors(&self) -> Vec<(i32, FileIndex)> {
        let contexts = read(&self.contexts);
        contexts.iter().filter(|(_, found)| found.is_open()).map(|(_, found)| (found.cmd_fd, found.file)).collect()
    }

    fn descriptor_of(&self, file: FileIndex) -> Option<i32> {
        self.open_descriptors().into_iter().find(|(_, of)| *of == file).map(|(fd, _)| fd)
    }

    /// Forgets the closed context at `address`, where another stands now.
    pub fn forget_closed_context(&self, address: usize) {
        self.change_contexts(|contexts| contexts.forget_closed(address));
    }

    /// Forgets an adopted context that was closed unseen, where another stands now.
    pub fn forget_adopted_context(&self, address: usize) {
        let forgotten = self.change_contexts(|contexts| contexts.forget_adopted(address));
        let file = forgotten.filter(Context::is_open).and_then(|context| self.file(context.file));
        if let Some(file) = file {
            file.open_contexts.fetch_sub(1, Ordering::Relaxed);
            file.remember_descriptor(self.descriptor_of(file.index).unwrap_or(-1));
        }
    }

    /// After `ibv_import_device(cmd_fd)` succeeded: the number must not be that of another live context.
    pub fn imported_fd(&self, cmd_fd: i32, address: usize) -> Vec<(Fault, Subject)> {
        let contexts = read(&self.contexts);
        let other = contexts.iter().find(|(at, other)| *at != address && other.is_open() && other.cmd_fd == cmd_fd);
        let Some((at, other)) = other else { return Vec::new() };
        let fault = Fault::forwarded(Rule::FdImportedWithoutDup, Severity::Warning);
        self.counted(vec![(fault, Subject::Context(at, Box::new(other.clone())))])
    }

    /// Before `ibv_close_device` of the context at `address`.
    pub fn begin_close(&self, address: usize, world: &dyn World) -> Verdict<CloseToken> {
        let (held_elsewhere, certain) = self.asks_who_holds(address, world);
        let mut contexts = write(&self.contexts);
        let Some(context) = contexts.get_mut(address) else { return Verdict::forward(None) };
        let snapshot = context.clone();
        let faults = check::context_close(&snapshot);
        let token = || {
            let Context { id, file, .. } = snapshot;
            snapshot.is_open().then_some(CloseToken { address, id, file, held_elsewhere, certain })
        };
        let verdict = self.verdict(faults, || Subject::Context(address, Box::new(snapshot.clone())), token);
        if let Ok(Some(_)) = verdict.outcome {
            context.state = ContextState::Dying;
        }
        verdict
    }

    /// After the close answered: what was lost with the context.
    pub fn finish_close(&self, token: CloseToken, done: bool, mark: Mark, world: &dyn World) -> Closed {
        if !done {
            if let Some(context) = write(&self.contexts).get_mut(token.address).filter(|now| now.id == token.id) {
                context.state = ContextState::Live;
            }
            return Closed::default();
        }
        let context = self.change_contexts(|contexts| contexts.close(token.address, token.id, mark));
        let Some(file) = self.file(token.file) else { return Closed::default() };
        let last = file.open_contexts.fetch_sub(1, Ordering::Relaxed) == 1;
        file.remember_descriptor(self.descriptor_of(file.index).unwrap_or(-1));
        let lives_on = !last || token.held_elsewhere;
        let certain = || if last { token.certain } else { world.sees_everyone(file) };
        let lost = self.lost_at_close(token.id, file, lives_on, certain);
        let left = self.drop_children_of(token.id);
        if last {
            self.tell_possible_exports(file, mark);
            file.leave();
        }
        let context = context.filter(|_| !file.is_gone());
        let left = context.map(|context| self.judge_left(token.address, context, left)).unwrap_or_default();
        Closed { lost, left }
    }

    /// An export needs no context, and after the last one there is no way to tell of it: from here on every UMEM that is
    /// still referred to may be one that was exported.
    fn tell_possible_exports(&self, file: &DeviceFile, mark: Mark) {
        for shard in self.table.shards() {
            for (_, thing) in shard.iter() {
                if let Thing::Reference(reference) = thing
                    && (reference.kind, reference.file, reference.is_live()) == (Kind::Umem, file.index, true)
                    && let Some(generation) = reference.generation
                {
                    file.exported(Kind::Umem, reference.handle, generation, mark);
                }
            }
        }
    }

    /// Whether others hold the device file of the context at `address`, and whether all of them tell what they do. Only
    /// asked where something may be left in it.
    fn asks_who_holds(&self, address: usize, world: &dyn World) -> (bool, bool) {
        let Some(context) = self.context(address).filter(Context::is_open) else { return (false, false) };
        let Some(file) = self.file(context.file) else { return (false, false) };
        let orphans = file.orphans() > 0;
        let held = (orphans || self.refers_to(context.id)) && world.is_held_elsewhere(file) == Some(true);
        (held, held && orphans && world.sees_everyone(file))
    }

    /// Whether a live reference was made in this context.
    fn refers_to(&self, context: ContextId) -> bool {
        self.table.shards().any(|shard| {
            shard.iter().any(|(_, thing)| match thing {
                Thing::Reference(reference) => reference.context == context && reference.is_live(),
                Thing::Child(_) => false,
            })
        })
    }
}
