//! Ending references.

use verbsguard_core::check::Fault;
use verbsguard_core::ledger::Kind;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::site::Site;
use verbsguard_core::track::{ChildEndToken, End, Here, Mark, ReleaseToken};

use crate::call::{self, Decision};
use crate::guard::Guard;
use crate::real::Named;

/// What is under way at the address that a release names.
#[derive(Clone, Copy)]
pub enum Ending {
    Reference(ReleaseToken),
    /// `ibv_dealloc_pd` of a parent domain.
    ParentDomain(ChildEndToken),
}

/// The call under way.
struct Now;

impl Here for Now {
    fn site(&self) -> Site {
        call::site()
    }
    fn mark(&self) -> Mark {
        call::mark()
    }
}

impl Guard {
    #[inline(always)]
    pub fn before_release(
        &self,
        function: &dyn Named,
        argument: &'static str,
        address: usize,
        kind: Kind,
        end: End,
    ) -> Decision<Ending> {
        match self.tracker.end_at_once(address, kind, end, &Now) {
            true => Decision::Done,
            false => self.judge_release(function, argument, address, kind, end),
        }
    }

    #[inline(never)]
    fn judge_release(
        &self,
        function: &dyn Named,
        argument: &'static str,
        address: usize,
        kind: Kind,
        end: End,
    ) -> Decision<Ending> {
        if address == 0 {
            return self.release_of_null(function, argument, kind, end);
        }
        if (kind, end) == (Kind::Pd, End::Destroy)
            && let Some(token) = self.tracker.begin_parent_domain_end(address)
        {
            return Decision::Forward(Some(Ending::ParentDomain(token)));
        }
        let verdict = self.tracker.begin_release(address, kind, end, &Now, &self.world);
        self.decide(function, argument, verdict).map(Ending::Reference)
    }

    fn release_of_null(&self, function: &dyn Named, argument: &'static str, kind: Kind, end: End) -> Decision<Ending> {
        if (kind, end) == (Kind::Umem, End::Unimport) {
            let fault = Fault::forwarded(Rule::NullArgument, Severity::Note);
            self.judge(function, argument, fault, format!("{argument} is NULL: nothing is freed"));
            return Decision::Forward(None);
        }
        match self.refuse_null(function, argument, 0) {
            Some(errno) => Decision::Refuse(errno),
            None => Decision::Forward(None),
        }
    }

    pub fn after_release(&self, function: &dyn Named, ending: Ending, error: i32) {
        match ending {
            Ending::Reference(token) => {
                let faults = self.tracker.finish_release(token, error, self.mark(), &self.world);
                self.tell(function, Some(token.argument()), &faults);
            }
            Ending::ParentDomain(token) if error == 0 => self.tracker.finish_child_end(token),
            Ending::ParentDomain(_) => {}
        }
    }
}
