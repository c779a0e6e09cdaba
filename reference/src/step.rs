//! What a program is made of: steps, each one thing that one process does.

use crate::kernel::Kind;

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
    /// The device is opened: a new device file.
    Open {
        /// By this process.
        who: Who,
        /// What it makes.
        new: Id,
    },
    /// A context's descriptor is passed on (or copied, where `to` is the same process), and kept there.
    Lend {
        /// By this process.
        who: Who,
        /// The context.
        context: Id,
        /// To this process.
        to: Who,
        /// The descriptor.
        fd: Id,
    },
    /// A descriptor that was lent is closed.
    CloseFd {
        /// By this process.
        who: Who,
        /// The descriptor.
        fd: Id,
    },
    /// `ibv_import_device`, which takes the descriptor over.
    ImportFd {
        /// By this process.
        who: Who,
        /// The descriptor.
        fd: Id,
        /// What it makes.
        new: Id,
    },
    /// `ibv_close_device`.
    Close {
        /// By this process.
        who: Who,
        /// The context.
        context: Id,
    },
    /// `ibv_alloc_pd`, `mlx5dv_devx_umem_reg`.
    Make {
        /// By this process.
        who: Who,
        /// PD or UMEM.
        kind: Kind,
        /// The context.
        context: Id,
        /// What it makes.
        new: Id,
    },
    /// `ibv_import_pd`, `mlx5dv_devx_umem_import`.
    Import {
        /// By this process.
        who: Who,
        /// PD or UMEM.
        kind: Kind,
        /// The context.
        context: Id,
        /// What it names.
        source: Source,
        /// What it makes.
        new: Id,
    },
    /// `mlx5dv_devx_umem_export`.
    Export {
        /// By this process.
        who: Who,
        /// What it is given.
        umem: Given,
        /// What it makes.
        new: Id,
    },
    /// `ibv_reg_mr`.
    RegMr {
        /// By this process.
        who: Who,
        /// What it is given.
        pd: Given,
        /// What it makes.
        new: Id,
    },
    /// `ibv_dereg_mr`.
    DeregMr {
        /// By this process.
        who: Who,
        /// The memory region.
        mr: Id,
    },
    /// A reference is ended.
    End {
        /// By this process.
        who: Who,
        /// PD or UMEM.
        kind: Kind,
        /// How.
        end: End,
        /// What it is given.
        what: Given,
    },
    /// `fork`.
    Fork {
        /// By this process.
        who: Who,
        /// The new process.
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
