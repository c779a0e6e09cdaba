//! What the options make of findings.

use super::{Summary, Suppressions, json, suppress, text};
use crate::finding::Finding;
use crate::options::{Format, Options};
use crate::rules::Severity;
use crate::site::Resolve;

/// Drops, ranks and renders findings as the options say. Nothing in it changes but the suppressions' use counts.
#[derive(Debug)]
pub struct Reporter {
    options: Options,
    suppressions: Suppressions,
    color: bool,
}

impl Reporter {
    /// `color` is for a log that is a terminal.
    pub fn new(options: Options, suppressions: Suppressions, color: bool) -> Reporter {
        Reporter { options, suppressions, color }
    }

    /// Gives the finding the severity that the options ask for. `false` where it is disabled or suppressed, so that it
    /// neither counts nor is printed. Stacks are resolved only where a suppression names the rule.
    pub fn prepare(&self, finding: &mut Finding, resolver: &dyn Resolve) -> bool {
        let Some(severity) = self.options.severity_of(finding.rule, finding.severity) else { return false };
        finding.severity = severity;
        if !self.suppressions.concern(finding.rule) {
            return true;
        }
        // The call site is what repeats are counted by, so the finding itself keeps its unresolved stacks.
        let mut resolved = finding.clone();
        resolved.resolve(resolver);
        !self.suppressions.cover(&resolved)
    }

    /// Whether findings of this severity are printed.
    pub fn prints(&self, severity: Severity) -> bool {
        self.options.format == Format::Json || self.options.verbose || severity != Severity::Note
    }

    /// A finding whose stacks are resolved, as one append to the log: a block of text, or a line of JSON.
    pub fn render(&self, finding: &Finding) -> String {
        match self.options.format {
            Format::Json => json::finding(finding),
            Format::Text => {
                let suppression = self.options.gen_suppressions.then(|| suppress::line_for(finding)).flatten();
                text::finding(finding, &self.options, suppression.as_deref(), self.color)
            }
        }
    }

    /// What a process says at its end, as one append to the log; `None` where there is nothing to say.
    pub fn render_end(&self, summary: &Summary) -> Option<String> {
        if self.options.format == Format::Json {
            return Some(json::summary(summary));
        }
        let text = text::end(summary, &self.options, &self.suppressions);
        (!text.is_empty()).then_some(text)
    }
}
