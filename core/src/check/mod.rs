//! Checks: pure judgements. A check reads a state and a call and returns faults; it changes nothing.

mod acquire;
mod arguments;
mod policy;
mod release;
mod use_of;

pub use acquire::{BlobView, HandleView, blob, denies, failed_import, import_of_own, is_same, pdn};
pub use arguments::{Registration, World as Memory, registration};
pub use policy::Policy;
pub use release::{ReleaseView, release};
pub use use_of::{child_destroy, context, context_close, use_of};

use crate::rules::{Rule, Severity};

/// One judgement on one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Which rule.
    pub rule: Rule,
    /// How sure and how bad.
    pub severity: Severity,
    /// `mode=guard` refuses the call: forwarding would read or free what is not the object's any more.
    pub unsafe_to_forward: bool,
    /// errno of a refusal.
    pub errno: i32,
}

/// errno values that refusals and explanations need (asm-generic/errno-base.h, errno.h of Linux).
pub mod errno {
    /// No such object.
    pub const ENOENT: i32 = 2;
    /// Device gone.
    pub const EIO: i32 = 5;
    /// Bad descriptor.
    pub const EBADF: i32 = 9;
    /// Out of memory, or over RLIMIT_MEMLOCK.
    pub const ENOMEM: i32 = 12;
    /// Bad address.
    pub const EFAULT: i32 = 14;
    /// Object in use.
    pub const EBUSY: i32 = 16;
    /// Bad argument.
    pub const EINVAL: i32 = 22;
    /// Not supported.
    pub const EOPNOTSUPP: i32 = 95;
}

impl Fault {
    /// A fault whose call is forwarded in `mode=guard`.
    pub const fn forwarded(rule: Rule, severity: Severity) -> Fault {
        Fault { rule, severity, unsafe_to_forward: false, errno: errno::EINVAL }
    }

    /// An error whose call is refused in `mode=guard`.
    pub const fn refused(rule: Rule, errno: i32) -> Fault {
        Fault { rule, severity: Severity::Error, unsafe_to_forward: true, errno }
    }
}

/// What became of an object, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing is known: claim nothing.
    Unknown,
    /// It lives.
    Alive,
    /// Its destruction is known.
    Dead {
        /// The handle now belongs to another live object.
        replaced: bool,
    },
}
