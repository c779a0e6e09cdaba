//! A rule in words.

use super::{Rule, arguments, identity, leaks, lifetime};

/// What guard mode does with the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Refused with this errno.
    Refused(&'static str),
    /// Forwarded.
    Forwarded,
    /// Seen after the real call.
    After,
    /// More than one case.
    Depends(&'static str),
    /// No call of its own: a leak report.
    Report,
}

impl Guard {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Guard::Refused(errno) => format!("refused with {errno}"),
            Guard::Forwarded => "forwarded".into(),
            Guard::After => "found after the real call, whose result stays".into(),
            Guard::Depends(words) => words.into(),
            Guard::Report => "part of the leak report".into(),
        }
    }
}

/// Everything that `verbsguard explain` and docs/rules.md say about a rule.
#[derive(Debug)]
pub struct Text {
    /// The rule.
    pub rule: Rule,
    /// When it fires.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// What guard mode does.
    pub guard: Guard,
    /// The words of the rule's manual page, as they stand there.
    pub words: Option<&'static str>,
    /// A few lines of C that fire it.
    pub example: &'static str,
    /// What to do.
    pub fix: &'static str,
}

impl Rule {
    /// The rule in words.
    pub fn text(self) -> &'static Text {
        let all = [lifetime::TEXTS, identity::TEXTS, arguments::TEXTS, leaks::TEXTS];
        // A test sees to it that each rule has its text.
        all.into_iter().flatten().find(|text| text.rule == self).unwrap_or(&lifetime::TEXTS[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_text() {
        for &rule in Rule::ALL {
            assert_eq!(rule.text().rule, rule, "{rule} has no text");
        }
    }

    #[test]
    fn texts_are_whole_sentences() {
        for text in Rule::ALL.iter().map(|rule| rule.text()) {
            for part in [text.what, text.why] {
                assert!(part.ends_with('.') && !part.contains("  ") && part.is_ascii(), "{}: {part}", text.rule);
            }
            assert!(!text.fix.is_empty() && !text.example.is_empty(), "{}", text.rule);
        }
    }
}
