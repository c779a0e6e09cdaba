//! Findings for people.

use std::fmt::{self, Write};
use std::time::Duration;

use super::{Summary, Suppressions};
use crate::finding::{Action, Finding, HolderInfo, HolderState, Origin, Role};
use crate::options::{Mode, Options};
use crate::rules::{Section, Severity};
use crate::site::Trace;

/// Where the second column begins, unless a label needs more room.
const COLUMN: usize = 11;

pub(super) fn finding(finding: &Finding, options: &Options, suppression: Option<&str>, color: bool) -> String {
    let mut block = Block::default();
    block.head(finding, color);
    block.line(&finding.message);
    block.details(finding);
    block.line(&format!("see {}; verbsguard explain {}", finding.page, finding.rule));
    if finding.rule.section() != Section::Leaks {
        block.line(&action(finding.action, options.mode));
    }
    if options.limit != 0 && finding.repeat == options.limit {
        let limit = options.limit;
        block.line(&format!("more of this rule from this place are counted, not printed (limit={limit})"));
    }
    if let Some(line) = suppression {
        block.line(&format!("to suppress: {line}"));
    }
    block.text
}

pub(super) fn end(summary: &Summary, options: &Options, suppressions: &Suppressions) -> String {
    let mut text = String::new();
    let pid = summary.stamp.pid;
    if options.gen_suppressions || options.verbose {
        for (line, used) in suppressions.used() {
            text.push_str(&format!("=={pid}==verbsguard: suppressed {used} by {line}\n"));
        }
    }
    if options.verbose {
        for (what, counts) in [("calls", &summary.calls), ("live objects", &summary.live)] {
            let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let counts = if counts.is_empty() { "none".into() } else { counts.join(", ") };
            text.push_str(&format!("=={pid}==verbsguard: {what}: {counts}\n"));
        }
    }
    text.push_str(&summary.closing_line().unwrap_or_default());
    text
}

fn action(action: Action, mode: Mode) -> String {
    let done = match action {
        Action::Forwarded => "forwarded",
        Action::Refused => "not forwarded",
        Action::Aborted => "aborting",
    };
    format!("{done} (mode={mode})")
}

#[derive(Default)]
struct Block {
    text: String,
}

impl Block {
    fn head(&mut self, finding: &Finding, color: bool) {
        let severity = finding.severity.word().to_uppercase();
        let (on, off) = if color { (hue(finding.severity), "\x1b[0m") } else { ("", "") };
        let place = match (finding.function.as_ref(), &finding.argument) {
            ("exit", _) => "at exit".into(),
            (function, Some(argument)) => format!("in {function}({argument})"),
            (function, None) => format!("in {function}"),
        };
        let pid = finding.stamp.pid;
        let head = format!("=={pid}=={severity}: verbsguard: {} {place}", finding.rule);
        self.push(&format!("{on}{}{off}\n", Clean(&head)));
    }

    /// Stacks and holders, in two columns: label and text.
    fn details(&mut self, finding: &Finding) {
        let mut rows = Vec::new();
        let origin = finding.objects.first().and_then(|object| object.origin);
        let stacks = &finding.stacks;
        stack(&mut rows, "here", &stacks.here);
        stack(&mut rows, "released", &stacks.released);
        stack(&mut rows, "destroyed", &stacks.destroyed);
        stack(&mut rows, origin.map_or("made", Origin::word), &stacks.created);
        holders(&mut rows, finding);
        children(&mut rows, finding);
        let width = rows.iter().map(|(label, _)| label.len() + ": ".len()).fold(COLUMN, usize::max);
        let mut last = "";
        for (label, text) in rows {
            let shown = if label == last { String::new() } else { format!("{label}:") };
            self.line(&format!("{shown:<width$}{text}"));
            last = label;
        }
    }

    fn line(&mut self, text: &str) {
        let line = format!("  {}\n", Clean(text));
        self.push(&line);
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

fn stack(rows: &mut Vec<(&'static str, String)>, label: &'static str, trace: &Trace) {
    rows.extend(trace.frames().iter().enumerate().map(|(number, frame)| (label, format!("#{number} {frame}"))));
}

fn holders(rows: &mut Vec<(&'static str, String)>, finding: &Finding) {
    for object in &finding.objects {
        let born = if object.kind == "umem" { "registered" } else { "allocated" };
        rows.extend(object.holders.iter().map(|holder| ("holders", holder_line(holder, born))));
    }
}

/// The children that a finding names, each with the place where it was made.
fn children(rows: &mut Vec<(&'static str, String)>, finding: &Finding) {
    for object in finding.objects.iter().filter(|object| !object.created.is_empty()) {
        rows.push(("child", object.to_string()));
        let frames = object.created.frames().iter().enumerate();
        rows.extend(frames.map(|(number, frame)| ("child", format!("  #{number} {frame}"))));
    }
}

fn hue(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "\x1b[1;31m",
        Severity::Warning => "\x1b[1;35m",
        Severity::Note => "\x1b[1m",
    }
}

/// `pid 4100 trainer (owner) allocated it 2.1 s ago and still holds it`
fn holder_line(holder: &HolderInfo, born: &str) -> String {
    let mut line = format!("pid {}", holder.pid);
    if !holder.comm.is_empty() {
        _ = write!(line, " {}", holder.comm);
    }
    let (role, born) = match holder.role {
        Role::Owner => ("owner", born),
        Role::Importer => ("importer", "imported"),
        Role::Heir => ("heir", "inherited"),
        Role::Unknown => ("unknown", "got"),
    };
    _ = write!(line, " ({role}) {born} it");
    if let Some(age) = holder.age {
        _ = write!(line, " {} ago", Age(age));
    }
    line.push_str(match holder.state {
        HolderState::Holds => " and still holds it",
        HolderState::Released => " and has released it",
        HolderState::Destroyed => " and has destroyed it",
        HolderState::Gone => " and is gone without releasing it",
        HolderState::Unknown => "; whether it still holds it is not known",
    });
    line
}

/// A length of time for people: "12 ms", "2.1 s", "5 min".
pub struct Age(pub Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..60 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            60..3600 => write!(f, "{} min", seconds / 60),
            3600..86_400 => write!(f, "{} h", seconds / 3600),
            _ => write!(f, "{} days", seconds / 86_400),
        }
    }
}

/// Text without control characters. Names come from programs and files: none may forge a line or move a terminal's
/// cursor.
pub struct Clean<'a>(pub &'a str);

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| f.write_char(if c.is_control() { '?' } else { c }))
    }
}
