//! Births: imports that failed and why, and imports that "succeeded" but cannot be right.

use super::{Fault, errno};
use crate::ledger::Kind;
use crate::rules::{Rule, Severity};
use crate::track::{Current, Newcomer};

/// What is known about the handle that a failed `ibv_import_pd` named.
#[derive(Clone, Copy, Default, Debug)]
pub struct HandleView {
    /// This device file's record shows a PD with this handle and its death.
    pub dead_here: bool,
    /// A PD with this handle lives here.
    pub alive_here: bool,
    /// A PD with this handle lives in another device file.
    pub alive_in_other_file: bool,
    /// The number is the pdn of a live PD here.
    pub is_pdn_here: bool,
}

/// The kernel's answer that a handle means nothing, or something else.
pub fn denies(error: i32) -> bool {
    error == errno::ENOENT || error == errno::EINVAL
}

/// Explains an `ibv_import_pd` that failed with `error`; the first that holds.
pub fn failed_import(error: i32, view: HandleView) -> Option<Fault> {
    if !denies(error) || view.alive_here {
        return None;
    }
    if view.dead_here {
        Some(Fault::forwarded(Rule::PdHandleStale, Severity::Error))
    } else if view.alive_in_other_file {
        Some(Fault::forwarded(Rule::PdHandleForeign, Severity::Error))
    } else if view.is_pdn_here {
        Some(Fault::forwarded(Rule::PdHandleIsPdn, Severity::Warning))
    } else {
        None
    }
}

/// Judges the pdn of an imported PD against the record's. PDNs are unique in a device: another pdn proves another
/// PD, an equal one proves nothing.
pub fn pdn(recorded: Option<u32>, imported: Option<u32>) -> Option<Fault> {
    match (recorded, imported) {
        (Some(recorded), Some(imported)) if recorded != imported => {
            Some(Fault::forwarded(Rule::PdHandleMismatch, Severity::Warning))
        }
        _ => None,
    }
}

/// Whether what an import brought is the object that the record has under its handle. A PD: alive, and not of another
/// pdn. A UMEM: alive, of the same id, and exported, where its life was seen from the start.
#[inline]
pub fn is_same(new: &Newcomer, recorded: &Current) -> bool {
    recorded.alive
        && match new.kind {
            Kind::Pd => !recorded.seen || pdn(recorded.second_id, new.second_id).is_none(),
            Kind::Umem => recorded.second_id == new.second_id && (recorded.exported || !recorded.seen),
        }
}

/// A context that imports what it owns itself.
pub fn import_of_own() -> Fault {
    Fault::forwarded(Rule::ImportOfOwn, Severity::Note)
}

/// What is known about the handle and umem id of a blob that `mlx5dv_devx_umem_import` took.
#[derive(Clone, Copy, Default, Debug)]
pub struct BlobView {
    /// Handle and id are a live export of another device file.
    pub live_in_other_file: bool,
    /// The handle's last UMEM here is destroyed, or the present one has another id, or was never exported.
    pub stale: bool,
    /// Everything that could have happened to this device file was seen (rules.md, "The history is whole").
    pub history_is_whole: bool,
    /// All other device files were looked at. Who has not does not know that nobody exported it.
    pub looked_everywhere: bool,
}

/// Judges an imported blob that is not of [the same](is_same) UMEM: foreign, stale, forged; the first that holds.
pub fn blob(view: BlobView) -> Fault {
    let certain = view.history_is_whole && view.looked_everywhere;
    let severity = if certain { Severity::Error } else { Severity::Note };
    let rule = if view.live_in_other_file {
        Rule::UmemBlobForeign
    } else if view.stale {
        Rule::UmemBlobStale
    } else {
        Rule::UmemBlobForged
    };
    Fault::forwarded(rule, severity)
}
