//! What a mode does with faults.

use super::Fault;
use crate::options::{Mode, Options};
use crate::rules::Severity;

/// The user's word on what is judged and refused.
#[derive(Clone, Debug, Default)]
pub struct Policy(pub Options);

impl Policy {
    /// The faults that count, with the severity that the user gave them.
    pub fn apply(&self, faults: Vec<Fault>) -> Vec<Fault> {
        let judged = |fault: Fault| {
            let severity = self.0.severity_of(fault.rule, fault.severity)?;
            Some(Fault { severity, ..fault })
        };
        faults.into_iter().filter_map(judged).collect()
    }

    /// A second release of a reference waits for the outcome of the first: refused if that succeeded.
    pub fn waits_for_racing_release(&self) -> bool {
        self.0.mode != Mode::Observe
    }

    /// The errno to refuse the call with, or None to forward it.
    pub fn refusal(&self, faults: &[Fault]) -> Option<i32> {
        let refuses = |fault: &&Fault| match self.0.mode {
            Mode::Observe => false,
            Mode::Guard => fault.unsafe_to_forward,
            Mode::Strict | Mode::Abort => fault.severity == Severity::Error,
        };
        faults.iter().find(refuses).map(|fault| fault.errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rule;

    const UNSAFE: Fault = Fault::refused(Rule::PdReleasedTwice, 22);
    const SAFE: Fault = Fault::forwarded(Rule::PdUsedAfterDestroy, Severity::Error);
    const WARNING: Fault = Fault::forwarded(Rule::UnimportOfOwned, Severity::Warning);

    fn policy(mode: Mode) -> Policy {
        Policy(Options { mode, ..Options::default() })
    }

    #[test]
    fn each_mode_refuses_what_the_contract_says() {
        assert_eq!(policy(Mode::Observe).refusal(&[UNSAFE, SAFE]), None);
        assert_eq!(policy(Mode::Guard).refusal(&[SAFE, WARNING]), None);
        assert_eq!(policy(Mode::Guard).refusal(&[WARNING, UNSAFE]), Some(22));
        assert_eq!(policy(Mode::Strict).refusal(&[WARNING]), None);
        assert_eq!(policy(Mode::Strict).refusal(&[SAFE]), Some(22));
    }

    #[test]
    fn a_disabled_rule_neither_speaks_nor_refuses() {
        let policy = Policy(Options { disable: vec![Rule::PdReleasedTwice], ..policy(Mode::Strict).0 });
        assert_eq!(policy.refusal(&policy.apply(vec![UNSAFE])), None);
    }

    #[test]
    fn a_lowered_severity_is_no_error_to_strict() {
        let severity = vec![(Rule::PdUsedAfterDestroy, Severity::Note)];
        let policy = Policy(Options { severity, ..policy(Mode::Strict).0 });
        let faults = policy.apply(vec![SAFE]);
        assert_eq!(faults[0].severity, Severity::Note);
        assert_eq!(policy.refusal(&faults), None);
    }
}
