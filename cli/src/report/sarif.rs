//! The merged report as SARIF 2.1.0, for code hosts and editors: one result for each rule at a place, with how often it
//! was found.

use std::collections::BTreeSet;
use std::io;

use serde_json::{Value, json};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::site::Frame;

use super::merge::{Group, Key, Merged};

/// The whole report, one JSON document.
pub fn render(merged: &Merged) -> io::Result<String> {
    let used: BTreeSet<Rule> = merged.groups().map(|(key, _)| key.rule).collect();
    let rules: Vec<Rule> = used.into_iter().collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "verbsguard",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": merged.groups().map(|(key, group)| result(&rules, key, group)).collect::<Vec<_>>(),
        }],
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn descriptor(rule: Rule) -> Value {
    let text = rule.text();
    json!({
        "id": rule.id(),
        "shortDescription": { "text": text.what },
        "fullDescription": { "text": text.why },
        "help": { "text": format!("To mend it: {} See {}.", text.fix, rule.page()) },
        "defaultConfiguration": { "level": level(rule.severity()) },
    })
}

fn level(severity: Severity) -> &'static str {
    // SARIF has the same three words.
    severity.word()
}

fn result(rules: &[Rule], key: &Key, group: &Group) -> Value {
    json!({
        "ruleId": key.rule.id(),
        "ruleIndex": rules.iter().position(|rule| *rule == key.rule),
        "level": level(key.severity.0),
        "message": { "text": group.message },
        "occurrenceCount": group.count,
        "locations": place(&group.frames).map(location).into_iter().collect::<Vec<_>>(),
        "stacks": [{
            "frames": group.frames.iter().map(|frame| json!({ "location": location(frame) })).collect::<Vec<_>>(),
        }],
        "properties": { "processes": group.processes.len() },
    })
}

/// The innermost frame that has a line in a source, else the innermost in any module.
fn place(frames: &[Frame]) -> Option<&Frame> {
    let in_source = frames.iter().find(|frame| frame.source.is_some());
    in_source.or_else(|| frames.iter().find(|frame| !frame.module.is_empty()))
}

fn location(frame: &Frame) -> Value {
    let source = frame.source.as_deref().map(split);
    let (file, line) = source.unwrap_or((&frame.module, None));
    let mut location = json!({
        "logicalLocations": [{ "fullyQualifiedName": frame.function.clone().unwrap_or_else(|| frame.to_string()) }],
        "message": { "text": frame.to_string() },
    });
    if !file.is_empty() {
        let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = line {
            physical["region"] = json!({ "startLine": line });
        }
        location["physicalLocation"] = physical;
    }
    location
}

/// `app.c:88` as file and line.
fn split(source: &str) -> (&str, Option<u32>) {
    match source.rsplit_once(':') {
        Some((file, line)) => match line.parse() {
            Ok(line) if line > 0 => (file, Some(line)),
            _ => (source, None),
        },
        None => (source, None),
    }
}

/// A path as a URI reference: what has a meaning in one is written by its bytes.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~+".contains(&byte);
    let encoded: String =
        path.bytes().map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect();
    if path.starts_with('/') { format!("file://{encoded}") } else { encoded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("/src/my app.c"), "file:///src/my%20app.c");
        assert_eq!(uri("a:b<\">.c"), "a%3Ab%3C%22%3E.c");
    }

    #[test]
    fn a_line_is_told_from_a_name() {
        assert_eq!(split("/src/app.c:88"), ("/src/app.c", Some(88)));
        assert_eq!(split("c:app.c"), ("c:app.c", None));
        assert_eq!(split("app.c:0"), ("app.c:0", None));
    }
}
