//! What the guard said: its JSON lines, compared with what was expected.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::Outcome;
use crate::expect::{Expectation, Expected};

/// Keys that every finding has (docs: the JSON schema).
const KEYS: &[&str] = &[
    "schema", "time", "pid", "tid", "comm", "host", "severity", "rule", "function", "argument", "message", "action",
    "repeat", "objects", "stacks", "page",
];

/// The lines of a log, parsed.
pub fn read(log: &Path) -> Outcome<Vec<Value>> {
    let text = match std::fs::read_to_string(log) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot read the log: {error}")),
    };
    let parse = |line: &str| serde_json::from_str(line).map_err(|error| format!("not JSON ({error}): {line}"));
    text.lines().map(parse).collect()
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or("")
}

fn is(line: &Value, key: &str, wanted: Option<&String>) -> bool {
    wanted.is_none_or(|wanted| text(line, key) == wanted)
}

fn matches(line: &Value, expected: &Expected) -> bool {
    text(line, "severity") == expected.severity
        && text(line, "rule") == expected.rule
        && is(line, "function", expected.function.as_ref())
        && is(line, "argument", expected.argument.as_ref())
        && is(line, "action", expected.action.as_ref())
        && is(line, "comm", expected.by.as_ref())
        && expected.of.as_deref().is_none_or(|comm| names(line, comm, expected.role.as_deref()))
        && expected.at.as_deref().is_none_or(|function| leads_to(line, function))
}

/// Whether a finding names a process of this name, in its sentence or as a holder; with a role, as such a holder.
fn names(line: &Value, comm: &str, role: Option<&str>) -> bool {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let holders = items(&line["objects"]).iter().flat_map(|object| items(&object["holders"])).collect::<Vec<_>>();
    let is_it = |holder: &Value| text(holder, "comm") == comm && role.is_none_or(|role| text(holder, "role") == role);
    role.is_none() && text(line, "message").contains(&format!("({comm})")) || holders.iter().any(is_it)
}

/// Whether a function stands in one of the stacks that tell what was before.
fn leads_to(line: &Value, function: &str) -> bool {
    let stacks = ["created", "released", "destroyed"].map(|stack| line["stacks"][stack].as_array());
    stacks.into_iter().flatten().flatten().any(|frame| text(frame, "function") == function)
}

/// Compares the findings among `lines` with what a program expects: what is missing, what is too much.
pub fn compare(lines: &[Value], expectation: &Expectation) -> Outcome {
    let mut wrong = String::new();
    let mut left: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "finding").collect();
    for line in &left {
        let missing: Vec<_> = KEYS.iter().filter(|key| line.get(**key).is_none()).collect();
        if !missing.is_empty() {
            let _ = writeln!(wrong, "without the keys {missing:?}: {line}");
        }
    }
    for expected in &expectation.findings {
        match left.iter().position(|line| matches(line, expected)) {
            Some(at) => drop(left.remove(at)),
            None => drop(writeln!(wrong, "missing: {expected:?}")),
        }
    }
    for line in left {
        let absent = expectation.absent_notes.iter().any(|rule| rule == text(line, "rule"));
        if text(line, "severity") != "note" || absent {
            let _ = writeln!(wrong, "not expected: {}", brief(line));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn brief(line: &Value) -> String {
    let word = |key| text(line, key);
    format!(
        "{} {} in {} ({}) {}: {}",
        word("severity"),
        word("rule"),
        word("function"),
        word("argument"),
        word("action"),
        word("message")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(severity: &str, rule: &str) -> Value {
        let mut line = json!({"kind": "finding", "function": "ibv_unimport_pd", "argument": "pd"});
        for key in KEYS {
            line.as_object_mut().unwrap().entry(*key).or_insert(json!(1));
        }
        line["severity"] = json!(severity);
        line["rule"] = json!(rule);
        line
    }

    fn expecting(lines: &[&str]) -> Expectation {
        let lines: String = lines.iter().map(|line| format!(" * expect: {line}\n")).collect();
        Expectation::parse(&format!("/*\n{lines} */")).unwrap()
    }

    #[test]
    fn the_expected_findings_and_no_others() {
        let twice = line("error", "pd-released-twice");
        let expectation = expecting(&["error pd-released-twice in ibv_unimport_pd (pd)"]);
        assert!(compare(std::slice::from_ref(&twice), &expectation).is_ok());
        assert!(compare(&[], &expectation).is_err(), "missing");
        assert!(compare(&[twice.clone(), twice.clone()], &expectation).is_err(), "one too many");
        assert!(compare(&[twice.clone(), line("warning", "wrong-kind")], &expectation).is_err(), "another");
        assert!(compare(&[twice, line("note", "import-of-own")], &expectation).is_ok(), "notes are not findings");
    }

    #[test]
    fn notes_count_where_they_are_named() {
        let note = line("note", "import-of-own");
        assert!(compare(&[], &expecting(&["note import-of-own"])).is_err());
        assert!(compare(std::slice::from_ref(&note), &expecting(&["note import-of-own"])).is_ok());
        assert!(compare(&[note], &expecting(&["no note import-of-own"])).is_err());
    }

    #[test]
    fn every_part_that_is_named_counts() {
        let twice = [line("error", "pd-released-twice")];
        for other in [
            "warning pd-released-twice",
            "error pd-released-twice in ibv_dealloc_pd",
            "error pd-released-twice (context)",
            "error pd-released-twice refused",
        ] {
            assert!(compare(&twice, &expecting(&[other])).is_err(), "{other}");
        }
    }

    #[test]
    fn a_named_process_has_the_named_part() {
        let mut held = line("error", "pd-released-twice");
        held["objects"] = json!([{"holders": [{"comm": "B", "role": "heir"}]}]);
        held["message"] = json!("pd was made by pid 1 (A)");
        let held = [held];
        for (named, fits) in
            [("A", true), ("B", true), ("B as heir", true), ("B as owner", false), ("A as heir", false)]
        {
            let expectation = expecting(&[&format!("error pd-released-twice of {named}")]);
            assert_eq!(compare(&held, &expectation).is_ok(), fits, "{named}");
        }
    }

    #[test]
    fn a_line_without_a_promised_key_is_wrong() {
        let mut twice = line("error", "pd-released-twice");
        twice.as_object_mut().unwrap().remove("page");
        assert!(compare(&[twice], &expecting(&["error pd-released-twice"])).is_err());
    }
}
