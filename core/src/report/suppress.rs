//! Suppressions: findings that a user knows and does not want to see.

use std::sync::atomic::{AtomicU64, Ordering};

use wildmatch::WildMatch;

use crate::finding::Finding;
use crate::rules::Rule;
use crate::site::Frame;

/// The lines of a suppressions file.
#[derive(Debug, Default)]
pub struct Suppressions {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    text: String,
    rule: WildMatch,
    globs: Vec<WildMatch>,
    used: AtomicU64,
}

impl Suppressions {
    /// Reads a file's text. Also gives one sentence for each line that can match nothing.
    pub fn parse(text: &str) -> (Suppressions, Vec<String>) {
        let (mut lines, mut complaints) = (Vec::new(), Vec::new());
        for (number, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match Line::parse(text) {
                Ok(line) => lines.push(line),
                Err(message) => complaints.push(format!("suppressions, line {number}: {message}")),
            }
        }
        (Suppressions { lines }, complaints)
    }

    /// Whether a line names this rule, so that it is worth resolving a finding's stacks.
    pub fn concern(&self, rule: Rule) -> bool {
        self.lines.iter().any(|line| line.rule.matches(rule.id()))
    }

    /// Whether a line matches the finding, whose stacks are resolved. Counts the line's use.
    pub fn cover(&self, finding: &Finding) -> bool {
        let line = self.lines.iter().find(|line| line.matches(finding));
        line.inspect(|line| _ = line.used.fetch_add(1, Ordering::Relaxed)).is_some()
    }

    /// The lines that were used, and how often.
    pub fn used(&self) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.lines.iter().map(|line| (line.text.as_str(), line.used.load(Ordering::Relaxed)));
        counts.filter(|(_, used)| *used > 0)
    }
}

impl Line {
    fn parse(text: &str) -> Result<Line, String> {
        let mut parts = text.split(':').map(str::trim);
        let rule = WildMatch::new(parts.next().unwrap_or_default());
        if !Rule::ALL.iter().any(|known| rule.matches(known.id())) {
            return Err(format!("'{text}' names no rule: write RULE:GLOB, see `verbsguard explain --list`"));
        }
        let globs: Vec<_> = parts.filter(|glob| !glob.is_empty()).map(WildMatch::new).collect();
        if globs.is_empty() {
            return Err(format!("'{text}' has no GLOB for a module, a function or an object: write RULE:GLOB"));
        }
        Ok(Line { text: text.into(), rule, globs, used: AtomicU64::new(0) })
    }

    fn matches(&self, finding: &Finding) -> bool {
        self.rule.matches(finding.rule.id()) && self.globs.iter().all(|glob| glob_matches(glob, finding))
    }
}

fn glob_matches(glob: &WildMatch, finding: &Finding) -> bool {
    let stacks = &finding.stacks;
    let traces = [&stacks.here, &stacks.created, &stacks.released, &stacks.destroyed];
    traces.iter().flat_map(|trace| trace.frames()).any(|frame| frame_matches(glob, frame))
        || finding.objects.iter().filter_map(|object| object.name.as_deref()).any(|name| glob.matches(name))
}

fn frame_matches(glob: &WildMatch, frame: &Frame) -> bool {
    glob.matches(&frame.module)
        || glob.matches(frame.module_name())
        || frame.function.as_deref().is_some_and(|function| glob.matches(function))
}

/// The line that would suppress a finding: by the innermost function that has a name, else by its module.
pub(super) fn line_for(finding: &Finding) -> Option<String> {
    let stacks = [&finding.stacks.here, &finding.stacks.created];
    let frames = stacks.iter().map(|trace| trace.frames()).find(|frames| !frames.is_empty())?;
    let function = frames.iter().find_map(|frame| frame.function.as_deref()).filter(|name| !name.contains(':'));
    let glob = function.or_else(|| frames.first().map(Frame::module_name)).filter(|glob| !glob.is_empty())?;
    Some(format!("{}:{glob}", finding.rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::ObjectInfo;
    use crate::site::Trace;

    fn finding() -> Finding {
        let frame = |module: &str, function: Option<&str>| Frame {
            module: module.into(),
            function: function.map(Into::into),
            ..Frame::default()
        };
        let mut finding = Finding::new(Rule::PdReleasedTwice, "ibv_unimport_pd", "")
            .object(ObjectInfo { name: Some("weights".into()), ..ObjectInfo::default() });
        finding.stacks.here = Trace::Frames(vec![frame("/opt/lib/libfoo.so.1", Some("teardown"))]);
        finding.stacks.created = Trace::Frames(vec![frame("/usr/bin/app", Some("attach"))]);
        finding
    }

    fn covers(text: &str) -> bool {
        let (suppressions, complaints) = Suppressions::parse(text);
        assert!(complaints.is_empty(), "{complaints:?}");
        suppressions.cover(&finding())
    }

    #[test]
    fn module_function_and_object_match() {
        assert!(covers("pd-released-twice:libfoo.so*"));
        assert!(covers("pd-released-twice:/opt/lib/*"));
        assert!(covers("# ours\n\npd-released-twice:tear*"));
        assert!(covers("pd-*:weights"));
        assert!(covers("*:libfoo*:attach"));
    }

    #[test]
    fn another_rule_or_place_does_not_match() {
        assert!(!covers("umem-released-twice:teardown"));
        assert!(!covers("pd-released-twice:setup"));
        assert!(!covers("pd-released-twice:libfoo*:setup"));
    }

    #[test]
    fn what_matches_nothing_is_told() {
        let (_, complaints) = Suppressions::parse("leak:foo\npd-released-twice\n");
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("suppressions, line 1: 'leak:foo'"), "{complaints:?}");
    }

    #[test]
    fn uses_are_counted() {
        let (suppressions, _) = Suppressions::parse("wrong-kind:*\npd-released-twice:teardown");
        assert!(suppressions.cover(&finding()) && suppressions.cover(&finding()));
        assert_eq!(suppressions.used().collect::<Vec<_>>(), [("pd-released-twice:teardown", 2)]);
        assert!(suppressions.concern(Rule::WrongKind) && !suppressions.concern(Rule::NullArgument));
    }

    #[test]
    fn the_suggested_line_suppresses_its_finding() {
        let line = line_for(&finding()).expect("a line");
        assert_eq!(line, "pd-released-twice:teardown");
        assert!(covers(&line));
    }
}
