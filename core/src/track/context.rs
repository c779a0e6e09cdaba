//! The contexts this process opened or imported, by address.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{ContextId, FileIndex, Mark};

/// How many closed contexts are remembered, to tell a closed one from one never seen.
pub const CLOSED_CONTEXTS: usize = 4096;

/// How a context came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextOrigin {
    /// `ibv_open_device`, `mlx5dv_open_device`.
    Opened,
    /// `ibv_import_device`.
    Imported,
    /// Its birth was not seen.
    Adopted,
}

/// Where a context stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextState {
    /// Usable.
    Live,
    /// `ibv_close_device` is under way.
    Dying,
    /// Freed.
    Closed,
}

/// One context.
#[derive(Clone, Debug)]
pub struct Context {
    /// Its name while the process lives.
    pub id: ContextId,
    /// Its device file.
    pub file: FileIndex,
    /// The device's name, as `mlx5_0`.
    pub device: Arc<str>,
    /// The number of the device file's descriptor when it was opened.
    pub cmd_fd: i32,
    /// How it was born.
    pub origin: ContextOrigin,
    /// Where it stands.
    pub state: ContextState,
    /// Inherited by fork.
    pub inherited: bool,
    /// Birth.
    pub born: Mark,
    /// End, once closed.
    pub closed: Mark,
}

impl Context {
    /// Whether it may be named in a call.
    pub fn is_open(&self) -> bool {
        self.state != ContextState::Closed
    }
}

/// All contexts of this process, by address.
#[derive(Default, Debug)]
pub struct Contexts {
    by_address: FxHashMap<usize, Context>,
    closed: VecDeque<(usize, ContextId)>,
    next: u32,
}

impl Contexts {
    /// The context at `address`, open or remembered as closed.
    pub fn get(&self, address: usize) -> Option<&Context> {
        self.by_address.get(&address)
    }

    /// The same, to change.
    pub fn get_mut(&mut self, address: usize) -> Option<&mut Context> {
        self.by_address.get_mut(&address)
    }

    /// Takes a new context in; whatever was known at its address is over.
    pub fn insert(&mut self, address: usize, mut context: Context) -> ContextId {
        self.next += 1;
        context.id = ContextId(self.next);
        self.by_address.insert(address, context);
        ContextId(self.next)
    }

    /// Marks the context as closed and forgets the oldest closed ones. Answers what it was.
    pub fn close(&mut self, address: usize, id: ContextId, mark: Mark) -> Option<Context> {
        let context = self.by_address.get_mut(&address).filter(|context| context.id == id)?;
        context.state = ContextState::Closed;
        context.closed = mark;
        let closed = context.clone();
        self.closed.push_back((address, id));
        if self.closed.len() > CLOSED_CONTEXTS
            && let Some((address, id)) = self.closed.pop_front()
            && self.by_address.get(&address).is_some_and(|old| old.id == id && !old.is_open())
        {
            self.by_address.remove(&address);
        }
        Some(closed)
    }

    /// Forgets the context at `address` if it is remembered as closed.
    pub fn forget_closed(&mut self, address: usize) {
        if self.by_address.get(&address).is_some_and(|context| !context.is_open()) {
            self.by_address.remove(&address);
        }
    }

    /// Forgets the context at `address` if it was adopted: another one stands there.
    pub fn forget_adopted(&mut self, address: usize) -> Option<Context> {
        let adopted = self.by_address.get(&address).is_some_and(|context| context.origin == ContextOrigin::Adopted);
        if adopted { self.by_address.remove(&address) } else { None }
    }

    /// All of them, with addresses.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Context)> {
        self.by_address.iter().map(|(address, context)| (*address, context))
    }

    /// All of them, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Context> {
        self.by_address.values_mut()
    }
}
