//! `verbsguard ps` and `verbsguard report` on real processes: living ones, killed ones, ten of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::Value;
use verbsguard_tests::expect::End;
use verbsguard_tests::{Outcome, built, output_of, run};

use crate::{Bench, fresh};

/// PDs that each process makes at one place, as `tests-c/ledger/shown.c` has it.
const MANY: u64 = 20;

pub fn trials(bench: &Arc<Bench>) -> Outcome<Vec<Trial>> {
    let program = bench.compile("ledger/shown.c")?;
    let trial = |processes: u64| {
        let (bench, program) = (bench.clone(), program.clone());
        let folder = format!("shown-{processes}");
        Trial::test(format!("shown::by_{processes}"), move || {
            let scene = Scene::play(&program, &bench.folder.join(folder), processes)?;
            Ok([live, watched, killed, left, closed, logged].iter().try_for_each(|part| part(&scene))?)
        })
    };
    Ok(vec![trial(3), trial(10)])
}

/// What was shown at each moment, and the log.
struct Scene {
    folder: PathBuf,
    processes: u64,
}

impl Scene {
    fn play(program: &Path, folder: &Path, processes: u64) -> Outcome<Scene> {
        let folder = fresh(folder)?;
        let (ledger, log) = (folder.join("ledger").display().to_string(), folder.join("log").display().to_string());
        let env = [
            ("LEDGER", ledger.clone()),
            ("VERBSGUARD", built("verbsguard")?.display().to_string()),
            ("ACTORS_COUNT", processes.to_string()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value));
        let ledger = format!("ledger={ledger}");
        let done = run::run(program, &folder, &["--json", &log, "-o", &ledger, "-o", "exitcode=0"], &env)?;
        if done.end != End::Status(0) {
            return Err(format!("ended with {:?}\n{}{}", done.end, done.stdout, done.stderr));
        }
        Ok(Scene { folder, processes })
    }

    fn text(&self, file: &str) -> Outcome<String> {
        fs::read_to_string(self.folder.join(file)).map_err(|error| format!("{file}: {error}"))
    }

    fn lines(&self, file: &str) -> Outcome<Vec<Value>> {
        parse(&self.text(file)?)
    }
}

fn parse(text: &str) -> Outcome<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))).collect()
}

/// A premise, or what is wrong instead.
fn must(holds: bool, what: &str, seen: &impl std::fmt::Debug) -> Outcome {
    if holds { Ok(()) } else { Err(format!("{what}: {seen:?}")) }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The holders of an object: name, role, state.
fn holders(row: &Value) -> BTreeSet<(String, String, String)> {
    let word = |holder: &Value, key: &str| holder[key].as_str().unwrap_or_default().to_owned();
    let of = |holder| (word(holder, "comm"), word(holder, "role"), word(holder, "state"));
    items(&row["holders"]).iter().map(of).collect()
}

/// The names of the first so many.
fn names(processes: u64) -> impl Iterator<Item = String> {
    ('A'..='J').take(usize::try_from(processes).unwrap_or(0)).map(String::from)
}

/// One PD, which A owns and all others have imported.
fn live(scene: &Scene) -> Outcome {
    let rows = scene.lines("live.json")?;
    must(rows.len() == 1, "one living object", &rows)?;
    let role = |name: &str| if name == "A" { "owner" } else { "importer" };
    let wanted = names(scene.processes).map(|name| (name.clone(), role(&name).to_owned(), "holds".to_owned()));
    must(holders(&rows[0]) == wanted.collect(), "its holders", &rows[0])?;
    let made: Vec<&str> = items(&rows[0]["made"]).iter().filter_map(|frame| frame["function"].as_str()).collect();
    must(made.contains(&"allocs"), "where it was made", &made)?;
    let text = scene.text("live.txt")?;
    must(text.lines().count() == 2, "a title and a row", &text)?;
    must(text.contains(" A (owner), ") && text.contains(" B (importer)"), "the holders as text", &text)?;
    let report = scene.lines("live-report.json")?;
    must(report.len() == 1 && report[0]["errors"] == 0, "nothing to report", &report)
}

/// The watch saw the objects come.
fn watched(scene: &Scene) -> Outcome {
    let rows = scene.lines("watched.json")?;
    let all = 1 + scene.processes * MANY;
    let objects: BTreeSet<u64> = rows.iter().filter_map(|row| row["handle"].as_u64()).collect();
    must(objects.len() as u64 == all, "the objects that it has seen", &objects.len())?;
    let first = rows.first().and_then(|row| row["handle"].as_u64());
    let rounds = rows.iter().filter(|row| row["handle"].as_u64() == first).count();
    must(rounds >= 2 && (rows.len() as u64) < rounds as u64 * all, "a first round without them", &(rounds, rows.len()))
}

/// The leak groups of a report: rule, severity, count, and who how many.
type Group = (String, String, u64, Vec<(String, u64)>);

fn groups(lines: &[Value]) -> Vec<Group> {
    let word = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let count = |line: &Value| line["count"].as_u64().unwrap_or_default();
    let who = |line: &Value| items(&line["processes"]).iter().map(|one| (word(one, "comm"), count(one))).collect();
    let leaks = lines.iter().filter(|line| line["kind"] == "leak-group");
    let sorted = |mut all: Vec<(String, u64)>| {
        all.sort_unstable();
        all
    };
    leaks.map(|line| (word(line, "rule"), word(line, "severity"), count(line), sorted(who(line)))).collect()
}

fn group(rule: &str, severity: &str, each: u64, who: impl IntoIterator<Item = String>) -> Group {
    let who: Vec<(String, u64)> = who.into_iter().map(|name| (name, each)).collect();
    (rule.into(), severity.into(), each * who.len() as u64, who)
}

/// B is killed: what it alone had is lost, and what others have is theirs.
fn killed(scene: &Scene) -> Outcome {
    let rows = scene.lines("killed.json")?;
    let gone = |row: &&Value| holders(row).iter().any(|(name, _, state)| name == "B" && state == "gone");
    must(rows.iter().filter(gone).count() as u64 == 1 + MANY, "the objects whose holder is gone", &rows.len())?;
    must(scene.text("killed.txt")?.contains("B (importer, gone)"), "said as text", &scene.text("killed.txt")?)?;
    let found = groups(&scene.lines("killed-report.json")?);
    let b = || ["B".to_owned()];
    let wanted = [group("object-orphaned", "error", MANY, b()), group("left-to-others", "note", 1, b())];
    must(found == wanted, "what B left", &found)?;
    let text = scene.text("killed-report.txt")?;
    let told = text.contains("20 × error: object-orphaned of a pd") && text.contains("allocs_many");
    must(told && text.contains("in 1 process: ") && text.contains(" B (×20)"), "the same as text", &text)
}

/// All but the last are gone, one way or the other: merged by the place where the objects were made.
fn left(scene: &Scene) -> Outcome {
    let found = groups(&scene.lines("left-report.json")?);
    let lost = group("object-orphaned", "error", MANY, names(scene.processes - 1));
    must(found.first() == Some(&lost), "what all of them left", &found)?;
    let timeline: Value =
        serde_json::from_str(&scene.text("left-perfetto.json")?).map_err(|error| error.to_string())?;
    let begun = items(&timeline["traceEvents"]).iter().filter(|event| event["ph"] == "b").count() as u64;
    must(begun == 1 + scene.processes * MANY, "the lives on the time line", &begun)
}

/// The device file has no living holder.
fn closed(scene: &Scene) -> Outcome {
    let text = scene.text("closed.txt")?;
    must(text.lines().count() == 1, "nobody holds anything", &text)
}

/// The processes' own logs, merged: each of those that exited told what it lost itself, the first of them also what the
/// killed ones lost, once. Of three there is none but the last, whose PDs are lost with its context.
fn logged(scene: &Scene) -> Outcome {
    let log = scene.folder.join("log");
    let mut report = std::process::Command::new(built("verbsguard")?);
    let merged = parse(&output_of(report.args(["report", "--format", "json"]).arg(&log))?)?;
    let lost = |rule: &str| -> u64 {
        groups(&merged)
            .iter()
            .filter(|(found, severity, ..)| found == rule && severity != "note")
            .map(|one| one.2)
            .sum()
    };
    let (orphaned, lost) = (lost("object-orphaned"), lost("reference-lost"));
    let told = if scene.processes > 3 { (scene.processes - 1) * MANY } else { 0 };
    must((orphaned, lost) == (told, MANY), "what the logs tell", &(orphaned, lost))
}
