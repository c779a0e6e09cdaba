//! What happens before and after each kind of call: the helpers that the functions in `abi` name.
//!
//! Each `before_…` checks, reports and records; each `after_…` commits and reports. They run inside a catch_unwind of
//! [`crate::call::run`] and hold no lock when they return.

mod birth;
mod child;
mod context;
mod release;

use verbsguard_core::check::{Fault, errno};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{Subject, Verdict};

use crate::call::Decision;
use crate::guard::Guard;
use crate::real::Named;

impl Guard {
    /// Reports a verdict and turns it into what the call does.
    fn decide<T>(&self, function: &dyn Named, argument: &'static str, verdict: Verdict<T>) -> Decision<T> {
        let refused = verdict.outcome.is_err();
        for (fault, subject) in &verdict.faults {
            self.report(function, Some(argument), fault, subject, refused);
        }
        match verdict.outcome {
            Ok(token) => Decision::Forward(token),
            Err(errno) => Decision::Refuse(errno),
        }
    }

    /// Judges one fault about an argument: the errno to refuse the call with, or None to go on.
    fn judge(&self, function: &dyn Named, argument: &'static str, fault: Fault, message: String) -> Option<i32> {
        let faults = self.tracker.policy.apply(vec![fault]);
        let refusal = self.tracker.policy.refusal(&faults);
        for fault in &faults {
            self.report(function, Some(argument), fault, &Subject::Argument(message.clone()), refusal.is_some());
        }
        refusal
    }

    /// A pointer that the call dereferences must not be NULL.
    fn refuse_null(&self, function: &dyn Named, argument: &'static str, address: usize) -> Option<i32> {
        if address != 0 {
            return None;
        }
        let fault = Fault::refused(Rule::NullArgument, errno::EINVAL);
        self.judge(function, argument, fault, format!("{argument} is NULL, and {} reads it", function.name()))
    }

    /// Before a call of which only a pointer is looked at.
    pub fn before_pointer(&self, function: &dyn Named, argument: &'static str, address: usize) -> Decision<()> {
        self.before_pointers(function, [(argument, address)])
    }

    /// The same for several.
    pub fn before_pointers<const N: usize>(
        &self,
        function: &dyn Named,
        pointers: [(&'static str, usize); N],
    ) -> Decision<()> {
        for (argument, address) in pointers {
            if let Some(errno) = self.refuse_null(function, argument, address) {
                return Decision::Refuse(errno);
            }
        }
        Decision::Forward(Some(()))
    }

    /// Reports what was found after a call.
    fn tell(&self, function: &dyn Named, argument: Option<&'static str>, faults: &[(Fault, Subject)]) {
        for (fault, subject) in faults {
            self.report(function, argument, fault, subject, false);
        }
    }

    /// Tells once that the real library has no such function.
    pub fn provider_lacks(&self, function: &dyn Named) {
        if self.first_lack(function.name()) {
            let fault = Fault::forwarded(Rule::ProviderLacks, Severity::Note);
            let message = format!(
                "the real {} has no {}@{}: the call fails with EOPNOTSUPP",
                function.provider().soname().to_string_lossy(),
                function.name(),
                function.node()
            );
            self.judge(function, "", fault, message);
        }
    }
}
