//! Reports against committed text. `UPDATE_GOLDEN=1` writes the files anew; read the difference before you commit it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use verbsguard_core::finding::{Action, Finding, HolderInfo, HolderState, ObjectInfo, Origin, Role, Stacks, Stamp};
use verbsguard_core::options::Options;
use verbsguard_core::report::{Reporter, Suppressions, Tally};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::site::{Frame, Resolve, Site};

/// Stacks as the border would resolve them.
struct Names;

impl Resolve for Names {
    fn resolve(&self, site: Site) -> Vec<Frame> {
        let frame = |function: &str, line: u32, offset| Frame {
            module: "/opt/app/app".into(),
            offset,
            function: Some(function.into()),
            source: Some(format!("/src/app.c:{line}")),
            build_id: Some("c0ffee".into()),
        };
        let bare = Frame { module: "/opt/app/libfoo.so".into(), offset: 0x1234, ..Frame::default() };
        match site.0 {
            1 => vec![frame("teardown", 88, 0x1100), frame("main", 12, 0x1010)],
            2 => vec![frame("teardown", 81, 0x10f0), frame("main", 12, 0x1010)],
            3 => vec![frame("attach", 40, 0x1040), bare],
            _ => panic!("no stack {site:?} in this test"),
        }
    }
}

fn stamp() -> Stamp {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_769_860_800, 123_456_789);
    Stamp { time, pid: 4242, tid: 4243, comm: "app".into(), host: "node1".into() }
}

fn pd() -> ObjectInfo {
    let owner = HolderInfo {
        pid: 4100,
        comm: String::new(),
        role: Role::Owner,
        state: HolderState::Holds,
        age: Some(Duration::from_millis(2_100)),
    };
    ObjectInfo {
        kind: "pd".into(),
        address: 0x55d0_c0de,
        handle: Some(3),
        device: Some("mlx5_0".into()),
        file: Some("7f3a".into()),
        origin: Some(Origin::Imported),
        holders: vec![owner],
        ..ObjectInfo::default()
    }
}

fn released_twice() -> Finding {
    let message = format!("{} was already released by ibv_unimport_pd", pd());
    let stacks =
        Stacks { here: Site(1).into(), released: Site(2).into(), created: Site(3).into(), ..Stacks::default() };
    let mut finding =
        Finding::new(Rule::PdReleasedTwice, "ibv_unimport_pd", message).argument("pd").object(pd()).stacks(stacks);
    finding.stamp = stamp();
    finding.action = Action::Refused;
    finding
}

fn umem_destroyed() -> Finding {
    let umem = ObjectInfo {
        kind: "umem".into(),
        address: 0x7f00_0010,
        handle: Some(5),
        umem_id: Some(9),
        device: Some("mlx5_1".into()),
        origin: Some(Origin::Registered),
        name: Some("weights\n==1==ERROR: forged".into()),
        holders: vec![
            holder(1, Role::Importer, HolderState::Destroyed, 61),
            holder(2, Role::Heir, HolderState::Gone, 7_300),
            holder(3, Role::Unknown, HolderState::Unknown, 200_000),
        ],
        ..ObjectInfo::default()
    };
    let message = format!("{umem} was destroyed by pid 1");
    let stacks = Stacks { destroyed: Site(2).into(), created: Site(3).into(), ..Stacks::default() };
    let mut finding = Finding::new(Rule::UmemDestroyedElsewhere, "mlx5dv_devx_umem_dereg", message)
        .argument("umem")
        .object(umem)
        .stacks(stacks);
    finding.stamp = stamp();
    finding
}

fn holder(pid: u32, role: Role, state: HolderState, seconds: u64) -> HolderInfo {
    HolderInfo { pid, comm: "trainer".into(), role, state, age: Some(Duration::from_secs(seconds)) }
}

fn leak() -> Finding {
    let stacks = Stacks { created: Site(3).into(), ..Stacks::default() };
    let mut finding = Finding::new(Rule::ReferenceLost, "exit", "3 imported pds were never released")
        .stacks(stacks)
        .severity(Severity::Warning);
    finding.stamp = stamp();
    finding.count = 3;
    finding
}

fn reporter(options: &str, suppressions: &str, color: bool) -> Reporter {
    let (options, complaints) = Options::parse(&[options]);
    assert!(complaints.is_empty(), "{complaints:?}");
    Reporter::new(options, Suppressions::parse(suppressions).0, color)
}

/// The whole way of some findings, and of the end, as one log.
fn log(options: &str, color: bool, findings: Vec<Finding>) -> String {
    let reporter = reporter(options, "", color);
    let (limit, mut tally, mut log) = (Options::parse(&[options]).0.limit, Tally::default(), String::new());
    for mut finding in findings {
        if reporter.prepare(&mut finding, &Names)
            && tally.admit(&mut finding, limit)
            && reporter.prints(finding.severity)
        {
            finding.resolve(&Names);
            log.push_str(&reporter.render(&finding));
        }
    }
    let live = BTreeMap::from([("pd".into(), 1), ("umem".into(), 2)]);
    let calls = BTreeMap::from([("ibv_import_pd".into(), 4)]);
    log.push_str(&reporter.render_end(&tally.summary(stamp(), live, calls)).unwrap_or_default());
    log
}

fn all() -> Vec<Finding> {
    vec![released_twice(), umem_destroyed(), leak()]
}

fn same_as_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("golden file written");
    }
    let golden = std::fs::read_to_string(&path).expect("golden file");
    assert_eq!(text, golden, "{name} differs");
}

#[test]
fn text() {
    same_as_golden("report.txt", &log("", false, all()));
}

#[test]
fn text_with_everything() {
    let note = Finding { stamp: stamp(), ..Finding::new(Rule::ImportOfOwn, "ibv_import_pd", "its own pd") };
    let findings = [all(), vec![note]].concat();
    same_as_golden("verbose.txt", &log("verbose=1:gen_suppressions=1:limit=1:mode=observe", true, findings));
}

#[test]
fn json() {
    same_as_golden("report.jsonl", &log("format=json", false, all()));
}

#[test]
fn every_json_line_stands_alone_and_reads_back() {
    for line in log("format=json", false, vec![released_twice(), umem_destroyed()]).lines().take(2) {
        let finding: Finding = serde_json::from_str(line).expect("a finding");
        assert_eq!(finding.stamp, stamp());
        assert!(!finding.stacks.created.frames().is_empty());
    }
}

#[test]
fn a_silent_program_ends_silently() {
    assert_eq!(log("", false, vec![]), "");
    let note = Finding::new(Rule::ImportOfOwn, "ibv_import_pd", "");
    assert_eq!(log("", false, vec![note]), "");
}

#[test]
fn disabled_and_suppressed_findings_do_not_count() {
    assert_eq!(log("disable=pd-released-twice", false, vec![released_twice()]), "");
    let mut finding = released_twice();
    assert!(!reporter("", "pd-released-twice:attach", false).prepare(&mut finding, &Names));
    assert_eq!(finding.stacks, released_twice().stacks);
    assert!(reporter("", "pd-released-twice:other", false).prepare(&mut finding, &Names));
}

#[test]
fn repeats_are_limited_and_counted() {
    let log = log("limit=2", false, vec![released_twice(); 5]);
    assert_eq!(log.matches("==ERROR").count(), 2);
    assert_eq!(log.matches("counted, not printed (limit=2)").count(), 1);
    assert!(log.ends_with("SUMMARY: verbsguard: 5 errors, 0 warnings, 0 lost objects\n"));
}
