//! `verbsguard report` and `verbsguard ps`, run as commands.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use verbsguard_core::finding::{Finding, ObjectInfo, Stacks, Stamp as When};
use verbsguard_core::ledger::{Event, FileId, Generation, Handle, Kind, Origin, Process, Serial, Stamp};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::site::{Frame, Site, Trace};
use verbsguard_ledger::{Folder, Ledger};

fn verbsguard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_verbsguard")).args(arguments).output().expect("it was built")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn frames(function: &str) -> Trace {
    let frame = |function: &str, source: &str| Frame {
        module: "/bin/app".to_owned(),
        function: Some(function.to_owned()),
        source: Some(source.to_owned()),
        ..Frame::default()
    };
    Trace::Frames(vec![frame(function, "app.c:40"), frame("main", "app.c:99")])
}

fn leak(pid: u32, objects: u64) -> Finding {
    let object = ObjectInfo { kind: "umem".into(), handle: Some(3), ..ObjectInfo::default() };
    let stacks = Stacks { created: frames("attach"), ..Stacks::default() };
    let mut finding = Finding::new(Rule::ReferenceLost, "exit", "umem was never released").stacks(stacks);
    finding.objects = vec![object];
    finding.count = objects;
    finding.stamp = When { pid, comm: "rank".to_owned(), host: "node1".to_owned(), ..When::default() };
    finding
}

fn log(dir: &Path, pid: u32, findings: &[Finding]) {
    let mut file = File::create(dir.join(format!("{pid}.json"))).expect("a file");
    for finding in findings {
        let mut line = serde_json::to_value(finding).expect("JSON");
        line["schema"] = 1.into();
        line["kind"] = "finding".into();
        writeln!(file, "{line}").expect("written");
    }
}

#[test]
fn a_thousand_ranks_give_one_table() {
    let dir = TempDir::new().expect("a directory");
    (1..=1000).for_each(|pid| log(dir.path(), pid, &[leak(pid, 2)]));
    let path = dir.path().to_str().expect("text");
    let output = verbsguard(&["report", path]);
    let text = stdout(&output);
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("1000 processes on 1 host, from 1000 logs and 0 ledgers\n"), "{text}");
    assert!(text.contains("2000 × error: reference-lost of a umem") && text.contains("#0 attach app.c:40"), "{text}");
    assert!(text.contains("in 1000 processes:") && text.contains("and 992 more"), "{text}");
    assert!(text.lines().count() < 15, "{text}");

    let json = lines(&verbsguard(&["report", "--format", "json", path]));
    assert_eq!(json.len(), 2);
    assert_eq!((&json[0]["kind"], &json[0]["count"]), (&"leak-group".into(), &2000.into()));
    assert_eq!(json[0]["processes"].as_array().map(Vec::len), Some(1000));
    assert_eq!(json[1]["errors"], 2000);
}

#[test]
fn findings_are_grouped_by_rule_and_place_and_notes_are_in_json_only() {
    let dir = TempDir::new().expect("a directory");
    let used = |pid, function| {
        let stacks = Stacks { here: frames(function), ..Stacks::default() };
        let mut finding = Finding::new(Rule::PdUsedAfterDestroy, "ibv_reg_mr", "pd was destroyed").stacks(stacks);
        finding.stamp.pid = pid;
        finding
    };
    let note = used(1, "setup").severity(Severity::Note);
    log(dir.path(), 1, &[used(1, "setup"), used(1, "setup"), used(1, "other"), note]);
    log(dir.path(), 2, &[used(2, "setup")]);
    let path = dir.path().to_str().expect("text");
    let text = stdout(&verbsguard(&["report", path]));
    assert!(
        text.contains("3 × error: pd-used-after-destroy") && text.contains("1 × error: pd-used-after-destroy"),
        "{text}"
    );
    assert!(text.contains("in 2 processes: 1  (×2), 2") && !text.contains("note"), "{text}");
    assert!(text.ends_with("SUMMARY: verbsguard: 4 errors, 0 warnings\n"), "{text}");
    let json = lines(&verbsguard(&["report", "--format", "json", path]));
    assert_eq!(json.iter().filter(|line| line["severity"] == "note").count(), 1);
}

#[test]
fn damaged_lines_and_other_versions_are_counted_and_passed_over() {
    let dir = TempDir::new().expect("a directory");
    log(dir.path(), 1, &[leak(1, 1)]);
    let mut bytes = fs::read(dir.path().join("1.json")).expect("written");
    bytes.extend(b"{\"schema\":2,\"kind\":\"finding\"}\nnot json\n\xff\xfe\n{\"schema\":1,\"kind\":\"finding\",\"rule\":\"no-such\"}\n{\"half");
    fs::write(dir.path().join("1.json"), bytes).expect("written");
    let output = verbsguard(&["report", dir.path().to_str().expect("text")]);
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("5 lines could not be read as schema 1"), "{text}");
    assert!(text.contains("1 × error: reference-lost"), "{text}");
}

#[test]
fn what_is_not_there_is_said_in_one_line() {
    for arguments in [&["report", "/no/such/log"][..], &["ps", "--ledger", "/no/such/dir"]] {
        let output = verbsguard(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            error.starts_with("verbsguard: ") && error.contains("/no/such") && error.lines().count() == 1,
            "{error}"
        );
    }
}

const ID: FileId = FileId { dev: 5, ino: 6, number: 0x7f3a };

fn join(dir: &Path, pid: u32) -> Ledger {
    let folder = Folder::open(Some(dir)).expect("the directory");
    let process = Process {
        pid,
        comm: "app".to_owned(),
        host: "node1".to_owned(),
        device: "mlx5_0".to_owned(),
        ..Process::default()
    };
    Ledger::join(&folder, &ID, &process, true, Stamp::default()).expect("joined")
}

fn make(ledger: &Ledger, handle: u32) -> Generation {
    let stamp = Stamp { time_ns: 1, site: Site(4) };
    let frame = Frame { module: "/no/such/app".to_owned(), offset: 0x1234, ..Frame::default() };
    ledger.tell_stack(stamp.site, || vec![frame]);
    let (kind, handle, holder) = (Kind::Pd, Handle(handle), ledger.me());
    let born = Event::Born { kind, handle, second_id: Some(17), holder, stamp, seen: true };
    let generation = Generation(ledger.append(&born).expect("appended"));
    hold(ledger, handle.0, generation, Origin::Owned);
    generation
}

fn hold(ledger: &Ledger, handle: u32, generation: Generation, origin: Origin) {
    let serial = Serial(u64::from(handle));
    let (kind, handle, holder, stamp) = (Kind::Pd, Handle(handle), ledger.me(), Stamp::default());
    ledger.append(&Event::Acquired { holder, serial, kind, handle, generation, origin, stamp }).expect("appended");
}

#[test]
fn ps_shows_who_holds_what_and_where_it_was_made() {
    let dir = TempDir::new().expect("a directory");
    let (owner, importer) = (join(dir.path(), 41), join(dir.path(), 42));
    let generation = make(&owner, 3);
    hold(&importer, 3, generation, Origin::Imported);
    let path = dir.path().to_str().expect("text");
    let text = stdout(&verbsguard(&["ps", "--ledger", path]));
    let row = text.lines().nth(1).expect("a row");
    for part in
        ["mlx5_0", "000000007f3a", "pd 3 (pdn 17)", "live", "41 app (owner), 42 app (importer)", "0x1234 (app+0x1234)"]
    {
        assert!(row.contains(part), "no {part} in {text}");
    }
    let json = lines(&verbsguard(&["ps", "--json", "--ledger", path]));
    assert_eq!((&json[0]["handle"], &json[0]["pdn"]), (&3.into(), &17.into()));
    assert_eq!(
        (&json[0]["holders"][1]["role"], &json[0]["holders"][1]["state"]),
        (&"importer".into(), &"holds".into())
    );
    importer.leave(Stamp::default());
    owner.leave(Stamp::default());
    assert_eq!(stdout(&verbsguard(&["ps", "--ledger", path])).lines().count(), 1, "nobody holds it now");
}

#[test]
fn a_ledger_tells_what_the_dead_left() {
    let dir = TempDir::new().expect("a directory");
    let living = join(dir.path(), 50);
    let kept = make(&living, 1);
    // What another process left whose lock is gone: `leave` is not called, the life just ends.
    let killed = Command::new(std::env::current_exe().expect("a path"))
        .args(["--ignored", "--exact", "a_process_that_is_killed"])
        .env("VERBSGUARD_TEST_DIR", dir.path())
        .env("VERBSGUARD_TEST_KEPT", kept.0.to_string())
        .output()
        .expect("started");
    assert!(!killed.status.success(), "it kills itself");
    let json = lines(&verbsguard(&["report", "--format", "json", dir.path().to_str().expect("text")]));
    let mut found: Vec<_> = json
        .iter()
        .filter(|line| line["kind"] == "leak-group")
        .map(|line| {
            (
                line["rule"].as_str().expect("a rule"),
                line["severity"].as_str().expect("one"),
                line["processes"][0]["pid"].as_u64(),
            )
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("left-to-others", "note", Some(51)), ("object-orphaned", "error", Some(51))]);
    living.leave(Stamp::default());
}

#[test]
fn what_a_log_tells_a_ledger_does_not_tell_again() {
    let dir = TempDir::new().expect("a directory");
    let (ledgers, logs) = (dir.path().join("ledgers"), dir.path().join("logs"));
    fs::create_dir(&logs).expect("a directory");
    let (owner, living) = (join(&ledgers, 50), join(&ledgers, 51));
    let generation = make(&owner, 1);
    let (kind, handle, holder) = (Kind::Pd, Handle(1), owner.me());
    owner.append(&Event::Mourned { kind, handle, generation, holder }).expect("appended");
    owner.leave(Stamp::default());
    let errors = |paths: &[&Path]| {
        let paths = paths.iter().map(|path| path.to_str().expect("text"));
        let arguments: Vec<&str> = ["report", "--format", "json"].into_iter().chain(paths).collect();
        lines(&verbsguard(&arguments)).last().expect("totals")["errors"].clone()
    };
    assert_eq!(errors(&[&ledgers]), 1);
    log(&logs, 50, &[leak(50, 1)]);
    assert_eq!(errors(&[&logs]), 1);
    assert_eq!(errors(&[&ledgers, &logs]), 1);
    living.leave(Stamp::default());
}

#[test]
#[ignore = "the process that another test starts"]
fn a_process_that_is_killed() {
    let dir = std::env::var_os("VERBSGUARD_TEST_DIR").expect("given");
    let kept = std::env::var("VERBSGUARD_TEST_KEPT").expect("given").parse().expect("a number");
    let ledger = join(Path::new(&dir), 51);
    make(&ledger, 2);
    hold(&ledger, 1, Generation(kept), Origin::Imported);
    std::process::abort();
}
