//! Calls that name a reference or a context and leave it alive.

use super::{Fate, Fault, errno};
use crate::ledger::Kind;
use crate::rules::{Rule, Severity};
use crate::track::{Context, ContextState, Reference, State};

/// Judges a call other than unimport and destroy through `reference`. `reads_context`: the call goes through the
/// reference's context (an export does not).
pub fn use_of(reference: &Reference, fate: Fate, reads_context: bool) -> Vec<Fault> {
    let (after_release, after_destroy) = match reference.kind {
        Kind::Pd => (Rule::PdUsedAfterRelease, Rule::PdUsedAfterDestroy),
        Kind::Umem => (Rule::UmemUsedAfterRelease, Rule::UmemUsedAfterDestroy),
    };
    if let State::Released(_) = reference.state {
        return vec![Fault::refused(after_release, errno::EINVAL)];
    }
    if reference.context_closed && reads_context {
        return vec![Fault::refused(Rule::ContextClosed, errno::EINVAL)];
    }
    match fate {
        Fate::Dead { .. } => vec![Fault::forwarded(after_destroy, Severity::Error)],
        Fate::Alive | Fate::Unknown => Vec::new(),
    }
}

/// Judges a call that names `context`.
pub fn context(context: &Context) -> Vec<Fault> {
    match context.state {
        ContextState::Closed => vec![Fault::refused(Rule::ContextClosed, errno::EINVAL)],
        ContextState::Live | ContextState::Dying => Vec::new(),
    }
}

/// Judges `ibv_close_device` on `context`.
pub fn context_close(context: &Context) -> Vec<Fault> {
    if context.state == ContextState::Closed {
        return vec![Fault::refused(Rule::ContextClosedTwice, errno::EINVAL)];
    }
    if context.inherited {
        return vec![Fault::forwarded(Rule::InheritedContextClosed, Severity::Warning)];
    }
    Vec::new()
}

/// Judges the destroy of a child that reads its PD while it goes (a QP, or a child through a parent domain): `pd` is
/// what became of the reference it was made with. Not where `pd-unimport-busy` has told the same already.
pub fn child_destroy(reads_pd: bool, pd: Option<&Reference>, told: bool) -> Vec<Fault> {
    match pd {
        Some(reference) if reads_pd && !told && !reference.is_live() => {
            vec![Fault::forwarded(Rule::PdOfChildReleased, Severity::Error)]
        }
        _ => Vec::new(),
    }
}
