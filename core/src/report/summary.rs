//! What a process says at its end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Stamp;
use crate::rules::{Rule, Severity};

/// The counts of a process, for its last lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// When and where.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// Findings by rule and severity, those not printed included.
    pub findings: BTreeMap<Rule, BTreeMap<Severity, u64>>,
    /// Objects given up as lost.
    pub lost: u64,
    /// Live objects by type.
    pub live: BTreeMap<Cow<'static, str>, u64>,
    /// Calls by function.
    pub calls: BTreeMap<Cow<'static, str>, u64>,
}

impl Summary {
    /// How many findings of a severity there were.
    pub fn count(&self, severity: Severity) -> u64 {
        self.findings.values().filter_map(|by_severity| by_severity.get(&severity)).sum()
    }

    /// The line that ends the text log; `None` where there is nothing to say.
    pub fn closing_line(&self) -> Option<String> {
        let (errors, warnings) = (self.count(Severity::Error), self.count(Severity::Warning));
        if errors + warnings + self.lost == 0 {
            return None;
        }
        let lost = self.lost;
        Some(format!("SUMMARY: verbsguard: {errors} errors, {warnings} warnings, {lost} lost objects\n"))
    }
}
