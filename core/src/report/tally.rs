//! How often each finding came: what is printed is limited, what is counted is not.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Summary;
use crate::finding::{Finding, Stamp};
use crate::rules::{Rule, Severity};
use crate::site::Trace;

/// The counters of a process.
#[derive(Debug, Default)]
pub struct Tally {
    repeats: HashMap<(Rule, u64), u64>,
    findings: BTreeMap<Rule, BTreeMap<Severity, u64>>,
    lost: u64,
}

impl Tally {
    /// Counts a finding and writes its `repeat`. Whether it is among the first `limit` of its rule and call site
    /// (0: no limit).
    pub fn admit(&mut self, finding: &mut Finding, limit: u64) -> bool {
        let repeat = self.repeats.entry((finding.rule, call_site(&finding.stacks.here))).or_default();
        *repeat += 1;
        finding.repeat = *repeat;
        *self.findings.entry(finding.rule).or_default().entry(finding.severity).or_default() += 1;
        self.lost += finding.lost();
        limit == 0 || finding.repeat <= limit
    }

    /// Whether there was an error finding, so that `exitcode` holds.
    pub fn has_errors(&self) -> bool {
        self.findings.values().any(|by_severity| by_severity.contains_key(&Severity::Error))
    }

    /// The last line's counts, with what else a process knows at its end.
    pub fn summary(
        &self,
        stamp: Stamp,
        live: BTreeMap<Cow<'static, str>, u64>,
        calls: BTreeMap<Cow<'static, str>, u64>,
    ) -> Summary {
        Summary { stamp, findings: self.findings.clone(), lost: self.lost, live, calls }
    }
}

fn call_site(here: &Trace) -> u64 {
    match here {
        Trace::Site(site) => u64::from(site.0),
        Trace::Frames(frames) => {
            let mut hasher = DefaultHasher::new();
            for frame in frames {
                (&frame.module, frame.offset).hash(&mut hasher);
            }
            hasher.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;

    fn finding(rule: Rule, site: u32) -> Finding {
        let mut finding = Finding::new(rule, "ibv_unimport_pd", "");
        finding.stacks.here = Site(site).into();
        finding
    }

    #[test]
    fn counting_goes_on_after_the_limit() {
        let mut tally = Tally::default();
        let shown = (0..25).filter(|_| tally.admit(&mut finding(Rule::PdReleasedTwice, 1), 10)).count();
        let mut last = finding(Rule::PdReleasedTwice, 1);
        assert!(!tally.admit(&mut last, 10));
        assert_eq!((shown, last.repeat), (10, 26));
        let summary = tally.summary(Stamp::default(), BTreeMap::new(), BTreeMap::new());
        assert_eq!(summary.count(Severity::Error), 26);
    }

    #[test]
    fn another_rule_or_call_site_has_a_limit_of_its_own() {
        let mut tally = Tally::default();
        assert!(tally.admit(&mut finding(Rule::PdReleasedTwice, 1), 1));
        assert!(!tally.admit(&mut finding(Rule::PdReleasedTwice, 1), 1));
        assert!(tally.admit(&mut finding(Rule::PdReleasedTwice, 2), 1));
        assert!(tally.admit(&mut finding(Rule::WrongKind, 1), 1));
    }

    #[test]
    fn zero_is_no_limit() {
        let mut tally = Tally::default();
        assert!((0..100).all(|_| tally.admit(&mut finding(Rule::WrongKind, 1), 0)));
    }

    #[test]
    fn only_errors_change_the_exit_status() {
        let mut tally = Tally::default();
        tally.admit(&mut finding(Rule::PdDeallocBusy, 1), 10);
        assert!(!tally.has_errors());
        tally.admit(&mut finding(Rule::WrongKind, 1), 10);
        assert!(tally.has_errors());
    }

    #[test]
    fn lost_objects_are_added_up() {
        let mut tally = Tally::default();
        for _ in 0..2 {
            let mut leak = finding(Rule::ReferenceLost, 1);
            leak.count = 3;
            tally.admit(&mut leak, 1);
        }
        let summary = tally.summary(Stamp::default(), BTreeMap::new(), BTreeMap::new());
        assert_eq!(
            summary.closing_line().as_deref(),
            Some("SUMMARY: verbsguard: 2 errors, 0 warnings, 6 lost objects\n")
        );
        assert_eq!(Summary::default().closing_line(), None);
    }

    #[test]
    fn what_is_only_held_or_only_noted_is_not_lost() {
        let mut tally = Tally::default();
        for (rule, severity) in [(Rule::HeldAtExit, Severity::Warning), (Rule::ObjectOrphaned, Severity::Note)] {
            let mut leak = finding(rule, 1).severity(severity);
            leak.count = 3;
            tally.admit(&mut leak, 1);
        }
        assert_eq!(tally.summary(Stamp::default(), BTreeMap::new(), BTreeMap::new()).lost, 0);
    }
}
