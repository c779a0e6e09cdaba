//! What a program is made of: steps, each one thing that one process does, and how they are written in the language of
//! `tests-kernel/truth/cases`.

use super::kernel::Kind;

/// A process: 0 is A.
pub type Who = usize;

/// The most processes of a program.
pub const MOST: usize = 6;

/// The number of something that a step made. No two steps make the same.
pub type Id = u32;

/// How a reference is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `ibv_unimport_pd`, `mlx5dv_devx_umem_unimport`.
    Unimport,
    /// `ibv_dealloc_pd`, `mlx5dv_devx_umem_dereg`.
    Destroy,
}

/// What a call is given where a reference belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A reference, live or not, to what the call is for or not.
    Reference(Id),
    /// A memory region.
    Mr(Id),
    /// A context.
    Context(Id),
    /// NULL.
    Null,
}

/// What an import names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A PD's handle, or an exported blob, as some process has made it known.
    Known(Id),
    /// Any number.
    Number(u32),
    /// Memory that may not be read.
    Forbidden,
    /// NULL.
    Null,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Open {
        who: Who,
        new: Id,
    },
    /// A context's descriptor is passed on (or copied, where `to` is the same process), and kept there.
    Lend {
        who: Who,
        context: Id,
        to: Who,
        fd: Id,
    },
    CloseFd {
        who: Who,
        fd: Id,
    },
    /// `ibv_import_device`, which takes the descriptor over.
    ImportFd {
        who: Who,
        fd: Id,
        new: Id,
    },
    Close {
        who: Who,
        context: Id,
    },
    Make {
        who: Who,
        kind: Kind,
        context: Id,
        new: Id,
    },
    Import {
        who: Who,
        kind: Kind,
        context: Id,
        source: Source,
        new: Id,
    },
    Export {
        who: Who,
        umem: Given,
        new: Id,
    },
    RegMr {
        who: Who,
        pd: Given,
        new: Id,
    },
    DeregMr {
        who: Who,
        mr: Id,
    },
    End {
        who: Who,
        kind: Kind,
        end: End,
        what: Given,
    },
    Fork {
        who: Who,
        child: Who,
    },
    /// SIGKILL.
    Kill(Who),
    /// `exit`, with the guard's last report.
    Exit(Who),
    /// `_exit`.
    Quit(Who),
    /// The kernel's counts, and the ledger's.
    Count,
}

/// "A".
pub fn letter(who: Who) -> char {
    char::from(b'A' + u8::try_from(who).unwrap_or(25))
}

/// The function that ends a reference, as the script calls it.
pub fn verb(kind: Kind, end: End) -> &'static str {
    match (kind, end) {
        (Kind::Pd, End::Unimport) => "unimport_pd",
        (Kind::Pd, End::Destroy) => "dealloc_pd",
        (Kind::Umem, End::Unimport) => "unimport_umem",
        (Kind::Umem, End::Destroy) => "dereg_umem",
    }
}
