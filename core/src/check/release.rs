//! Ending a reference: unimport, dealloc, dereg.

use super::{Fate, Fault, errno};
use crate::ledger::Kind;
use crate::rules::{Rule, Severity};
use crate::track::{End, Origin, Reference, State};

/// What the judgement reads.
pub struct ReleaseView<'a> {
    /// The reference that the call names.
    pub reference: &'a Reference,
    /// What became of its object.
    pub fate: Fate,
    /// Another live reference to the object is known, here or in another process; for an unimport of what is owned also
    /// where a process that does not tell may have one.
    pub others: bool,
    /// A live child that reads the PD later (a QP), or one made through a parent domain that is gone, hangs on it.
    pub fatal_children: bool,
}

/// Judges ending `view.reference` by `end`.
#[inline]
pub fn release(view: &ReleaseView<'_>, end: End) -> Vec<Fault> {
    let reference = view.reference;
    if let State::Released(_) = reference.state {
        return vec![Fault::refused(released_twice(reference.kind), errno::EINVAL)];
    }
    // Unimport of a UMEM only frees; everything else reads the context.
    if reference.context_closed && (reference.kind, end) != (Kind::Umem, End::Unimport) {
        return vec![Fault::refused(Rule::ContextClosed, errno::EINVAL)];
    }
    match end {
        End::Destroy => destroy(view),
        End::Unimport => unimport(view),
    }
}

fn destroy(view: &ReleaseView<'_>) -> Vec<Fault> {
    let rule = match view.reference.kind {
        Kind::Pd => Rule::PdDestroyedElsewhere,
        Kind::Umem => Rule::UmemDestroyedElsewhere,
    };
    match view.fate {
        // The call would destroy somebody else's object.
        Fate::Dead { replaced: true } => vec![Fault::refused(rule, errno::ENOENT)],
        Fate::Dead { replaced: false } => vec![Fault::forwarded(rule, Severity::Warning)],
        Fate::Alive | Fate::Unknown => Vec::new(),
    }
}

fn unimport(view: &ReleaseView<'_>) -> Vec<Fault> {
    let reference = view.reference;
    let mut faults = Vec::new();
    if reference.origin == Origin::Owned && view.fate == Fate::Alive {
        let severity = if view.others { Severity::Note } else { Severity::Warning };
        faults.push(Fault::forwarded(Rule::UnimportOfOwned, severity));
    }
    // With a parent domain on it the provider ignores the call: judged after it (`unimport-failed-silently`).
    if reference.children > 0 && reference.parent_domains == 0 {
        let severity = if view.fatal_children { Severity::Error } else { Severity::Warning };
        faults.push(Fault::forwarded(Rule::PdUnimportBusy, severity));
    }
    faults
}

fn released_twice(kind: Kind) -> Rule {
    match kind {
        Kind::Pd => Rule::PdReleasedTwice,
        Kind::Umem => Rule::UmemReleasedTwice,
    }
}
