//! The merged report as text.

use std::fmt::Write;

use verbsguard_core::report::Clean;
use verbsguard_core::rules::Severity;

use super::merge::{Group, Key, Merged, counted};

/// More processes than these are counted, not named.
const NAMED: usize = 8;

/// Frames shown of a place.
const FRAMES: usize = 6;

/// The whole report.
pub fn render(merged: &Merged) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(merged, &mut text);
    text
}

fn write(merged: &Merged, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", merged.origin())?;
    let shown = merged.findings.iter().filter(|(key, _)| key.severity.0 > Severity::Note);
    section(out, "Findings, by place", shown.collect())?;
    section(out, "Leaks, by the place where the objects were made", merged.leaks.iter().collect())?;
    let (errors, warnings) = (merged.count(Severity::Error), merged.count(Severity::Warning));
    writeln!(out, "\nSUMMARY: verbsguard: {errors} errors, {warnings} warnings")
}

fn section(out: &mut String, title: &str, mut groups: Vec<(&Key, &Group)>) -> std::fmt::Result {
    if groups.is_empty() {
        return Ok(());
    }
    groups.sort_by_key(|(key, group)| (key.severity, std::cmp::Reverse(group.count)));
    writeln!(out, "\n{title}:")?;
    for (key, group) in groups {
        let object = if key.object.is_empty() { String::new() } else { format!(" of a {}", Clean(&key.object)) };
        writeln!(out, "\n  {} × {}: {}{object}", group.count, key.severity.0, key.rule.id())?;
        writeln!(out, "    {}", Clean(&group.message))?;
        for (number, frame) in key.place.iter().take(FRAMES).enumerate() {
            writeln!(out, "      #{number} {}", Clean(frame))?;
        }
        writeln!(out, "    in {}", processes(group))?;
    }
    Ok(())
}

/// "3 processes: 12 app (×40), 13 app, 14 app".
fn processes(group: &Group) -> String {
    let mut all: Vec<_> = group.processes.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = all.iter().take(NAMED).map(|(who, count)| {
        let times = if **count > 1 { format!(" (×{count})") } else { String::new() };
        format!("{} {}{times}", who.pid, Clean(&who.comm))
    });
    let mut words = named.collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        words += &format!(" and {} more", all.len() - NAMED);
    }
    format!("{}: {words}", counted(all.len() as u64, "process"))
}
