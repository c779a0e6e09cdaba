//! The formats of `verbsguard report`: each is what its readers require, counts what the JSON format counts, and takes
//! names for nothing but names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;
use tempfile::TempDir;
use verbsguard_core::finding::{Finding, ObjectInfo, Stacks, Stamp};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::site::{Frame, Trace};

/// What a program may be called, or its sources.
const HOSTILE: &str = "<script>\"&'\u{1b}[2J\u{9b}\n</details></summary>]]>";

fn report(format: &str, path: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbsguard"));
    let output = command.args(["report", "--format", format]).arg(path).output().expect("it was built");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn frame(function: &str, source: Option<&str>) -> Frame {
    Frame {
        module: format!("/opt/my app/{HOSTILE}"),
        offset: 0x1234,
        function: Some(function.to_owned()),
        source: source.map(str::to_owned),
        ..Frame::default()
    }
}

fn finding(rule: Rule, severity: Severity, pid: u32, count: u64) -> Finding {
    let here = vec![frame("in_library", None), frame(HOSTILE, Some(&format!("/src/{HOSTILE}.c:40")))];
    let stacks = Stacks { here: Trace::Frames(here.clone()), created: Trace::Frames(here), ..Stacks::default() };
    let object = ObjectInfo { kind: "umem".into(), handle: Some(3), ..ObjectInfo::default() };
    let mut finding = Finding::new(rule, "ibv_reg_mr", format!("umem \"{HOSTILE}\" is wrong"));
    finding = finding.severity(severity).stacks(stacks).object(object);
    finding.count = count;
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_769_860_800_000 + u64::from(pid));
    finding.stamp = Stamp { time, pid, tid: pid + 1, comm: HOSTILE.to_owned(), host: "node1".to_owned() };
    finding
}

/// Two processes' logs.
fn logs() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for pid in [41, 42] {
        let mut file = File::create(dir.path().join(format!("{pid}.json"))).expect("a file");
        for finding in [
            finding(Rule::PdUsedAfterDestroy, Severity::Error, pid, 0),
            finding(Rule::PdUsedAfterDestroy, Severity::Error, pid, 0),
            finding(Rule::PdDestroyedElsewhere, Severity::Warning, pid, 0),
            finding(Rule::ImportOfOwn, Severity::Note, pid, 0),
            finding(Rule::ReferenceLost, Severity::Error, pid, 20),
        ] {
            let mut line = serde_json::to_value(finding).expect("JSON");
            line["schema"] = 1.into();
            line["kind"] = "finding".into();
            writeln!(file, "{line}").expect("written");
        }
    }
    dir
}

/// How many of each severity the JSON format counts.
fn counts(dir: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in report("json", dir).lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if let (Some(severity), Some(count)) = (line["severity"].as_str(), line["count"].as_u64()) {
            *counts.entry(severity.to_owned()).or_default() += count;
        }
    }
    let expected = [("error", 44), ("note", 2), ("warning", 2)];
    assert_eq!(counts, expected.map(|(severity, count)| (severity.to_owned(), count)).into());
    counts
}

#[test]
fn sarif_says_what_code_hosts_require() {
    let dir = logs();
    let document: Value = serde_json::from_str(&report("sarif", dir.path())).expect("JSON");
    assert_eq!(document["version"], "2.1.0");
    assert!(document["$schema"].as_str().is_some_and(|schema| schema.ends_with("sarif-2.1.0.json")));
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "verbsguard");
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for result in run["results"].as_array().expect("results") {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("a small one");
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        assert!(result["message"]["text"].as_str().is_some_and(|text| text.contains(HOSTILE)));
        *found.entry(result["level"].as_str().expect("a level").to_owned()).or_default() +=
            result["occurrenceCount"].as_u64().expect("a count");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 40);
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        let allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~+%:".contains(c);
        assert!(uri.starts_with("file:///src/%3Cscript%3E") && uri.chars().all(allowed), "{uri}");
        assert_eq!(result["stacks"][0]["frames"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(found, counts(dir.path()));
}

#[test]
fn perfetto_gets_an_event_for_each_finding() {
    let dir = logs();
    let document: Value = serde_json::from_str(&report("perfetto", dir.path())).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    let mut processes = Vec::new();
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string(), "{event}");
        match event["ph"].as_str() {
            Some("M") => processes.push(event["pid"].as_u64()),
            Some("i") => {
                assert!(processes.contains(&event["pid"].as_u64()), "a process that has a name");
                assert!(event["ts"].as_f64().is_some_and(|ts| ts > 1.769e15), "{event}");
                let severity = event["cat"].as_str().expect("a severity").to_owned();
                *found.entry(severity).or_default() += event["args"]["count"].as_u64().expect("a count");
            }
            other => panic!("what is {other:?}?"),
        }
    }
    assert_eq!(processes.len(), 2);
    assert_eq!(found, counts(dir.path()));
}

#[test]
fn html_is_one_page_in_which_names_are_only_names() {
    let dir = logs();
    let page = report("html", dir.path());
    assert!(page.starts_with("<!DOCTYPE html>"));
    let document = Document::parse_with_options(&page, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() });
    let document = document.expect("every element that begins ends");
    let named = |name: &'static str| document.descendants().filter(move |node| node.has_tag_name(name));
    for foreign in ["script", "img", "link", "iframe"] {
        assert_eq!(named(foreign).count(), 0, "{foreign}");
    }
    assert!(!page.contains('\u{1b}') && !page.contains('\u{9b}'), "control characters");
    let shown = HOSTILE.replace(['\u{1b}', '\u{9b}'], "\u{fffd}");
    assert_eq!(named("td").filter(|cell| cell.text() == Some(&shown)).count(), 2 * named("details").count());

    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for details in named("details") {
        let is_count = |node: &Node| node.attribute("class") == Some("number");
        let counts = details.descendants().filter(is_count).filter_map(|node| node.text()?.parse::<u64>().ok());
        *found.entry(details.attribute("class").expect("a severity").to_owned()).or_default() += counts.sum::<u64>();
    }
    assert_eq!(found, counts(dir.path()));
    let by_id = |id| document.descendants().find(|node| node.attribute("id") == Some(id)).and_then(|node| node.text());
    assert_eq!((by_id("errors"), by_id("warnings")), (Some("44"), Some("2")));
}

#[test]
fn text_moves_no_cursor() {
    let dir = logs();
    let text = report("text", dir.path());
    assert!(text.contains("44 errors, 2 warnings"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn nothing_found_is_a_report_too() {
    let dir = TempDir::new().expect("a directory");
    File::create(dir.path().join("empty.json")).expect("a file");
    let sarif: Value = serde_json::from_str(&report("sarif", dir.path())).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(0));
    let perfetto: Value = serde_json::from_str(&report("perfetto", dir.path())).expect("JSON");
    assert_eq!(perfetto["traceEvents"].as_array().map(Vec::len), Some(0));
    assert!(report("html", dir.path()).ends_with("</html>\n"));
}
