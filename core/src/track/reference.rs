//! A reference: one local struct in this process through which the program reaches a kernel object.

use std::sync::Arc;

use crate::ledger::{Generation, Kind};
use crate::site::Site;

/// When and where something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// The interned stack of the call.
    pub site: Site,
    /// Nanoseconds since 1970 (CLOCK_REALTIME_COARSE).
    pub time: u64,
}

/// The call under way: when and where it was made, as far as somebody asks.
pub trait Here {
    /// Where.
    fn site(&self) -> Site;
    /// When and where.
    fn mark(&self) -> Mark;
}

impl Here for Mark {
    fn site(&self) -> Site {
        self.site
    }
    fn mark(&self) -> Mark {
        *self
    }
}

/// How a reference came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Allocated or registered through this very struct.
    Owned,
    /// Imported by handle or blob.
    Imported,
}

impl Origin {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Owned => "owned",
            Origin::Imported => "imported",
        }
    }
}

/// The two ways in which a reference ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The local struct only: `ibv_unimport_pd`, `mlx5dv_devx_umem_unimport`.
    Unimport,
    /// The kernel object too: `ibv_dealloc_pd`, `mlx5dv_devx_umem_dereg`.
    Destroy,
}

impl End {
    /// The function that ends a reference of `kind` so.
    pub fn function(self, kind: Kind) -> &'static str {
        match (kind, self) {
            (Kind::Pd, End::Unimport) => "ibv_unimport_pd",
            (Kind::Pd, End::Destroy) => "ibv_dealloc_pd",
            (Kind::Umem, End::Unimport) => "mlx5dv_devx_umem_unimport",
            (Kind::Umem, End::Destroy) => "mlx5dv_devx_umem_dereg",
        }
    }
}

/// Where a reference stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Usable.
    Live,
    /// A call that ends it is under way; back to live if that fails.
    Dying(End),
    /// Ended: the struct is freed, its address may be anything's.
    Released(End),
}

/// A destroy that failed and after which the reference still has to be ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What the call answered.
    pub errno: i32,
    /// When and where.
    pub mark: Mark,
    /// Already told (`pd-dealloc-busy`, `umem-dereg-failed`).
    pub told: bool,
}

/// Names a context for as long as the process lives, unlike its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ContextId(pub u32);

/// Names a device file in this process (index into the tracker's list).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileIndex(pub u32);

/// One reference.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Unique in this process; tells one use of an address from the next.
    pub serial: u64,
    /// What it refers to: the type …
    pub kind: Kind,
    /// … the device file …
    pub file: FileIndex,
    /// … the handle in it …
    pub handle: u32,
    /// … and which of the objects that had that handle; None where that cannot be known.
    pub generation: Option<Generation>,
    /// The PD's pdn or the UMEM's id, where known.
    pub second_id: Option<u32>,
    /// How it was born.
    pub origin: Origin,
    /// Where it stands.
    pub state: State,
    /// The context it was made in.
    pub context: ContextId,
    /// That context has been closed since.
    pub context_closed: bool,
    /// Inherited by fork: not this process's to leak.
    pub inherited: bool,
    /// `verbsguard_ignore`: never reported as lost.
    pub ignored: bool,
    /// Made in a context that was made where it was not seen: the program makes calls past us, so the end of this one, or
    /// of its children, may not be seen either.
    pub unwatched: bool,
    /// Live children made through this reference.
    pub children: u32,
    /// How many of those are parent domains: while one lives, libmlx5 ignores an unimport.
    pub parent_domains: u32,
    /// How many of those read this PD's struct when they go ([`super::Child::reads_pd`]).
    pub fatal_children: u32,
    /// `mlx5dv_init_obj` told the program its number: DEVX objects may have been made with that, unseen.
    pub pdn_given: bool,
    /// Its unimport was reported as busy.
    pub busy_told: bool,
    /// Bytes registered, 0 for a PD or where unknown.
    pub size: u64,
    /// Birth.
    pub born: Mark,
    /// Where it ended, once released.
    pub ended: Site,
    /// The last destroy that failed.
    pub failure: Option<Failure>,
    /// `verbsguard_name`.
    pub name: Option<Arc<str>>,
}

impl Reference {
    /// A live one, of which nothing more is known.
    #[inline(always)]
    pub fn new(kind: Kind, file: FileIndex, handle: u32, origin: Origin, born: Mark) -> Self {
        Reference {
            serial: 0,
            kind,
            file,
            handle,
            generation: None,
            second_id: None,
            origin,
            state: State::Live,
            context: ContextId::default(),
            context_closed: false,
            inherited: false,
            ignored: false,
            unwatched: false,
            children: 0,
            parent_domains: 0,
            fatal_children: 0,
            pdn_given: false,
            busy_told: false,
            size: 0,
            born,
            ended: Site::NONE,
            failure: None,
            name: None,
        }
    }

    /// Whether it is this process's to release, and would be seen to be.
    pub fn may_be_lost(&self) -> bool {
        self.is_live() && !self.inherited && !self.ignored && !self.unwatched
    }

    /// Whether the struct is still the program's to use.
    pub fn is_live(&self) -> bool {
        !matches!(self.state, State::Released(_))
    }
}
