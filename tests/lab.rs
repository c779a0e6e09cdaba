//! The real kernel as judge: the table of what it does, and the programs of tests-c guarded on it, all in one boot of
//! the kernel lab (docs/testing.md).
//!
//! `cargo test -p verbsguard-tests --test lab -- misuse` judges some of them; the boot is the same.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use verbsguard_tests::expect::{End, Log};
use verbsguard_tests::program::{self, Program};
use verbsguard_tests::rdma_core::RdmaCore;
use verbsguard_tests::soak::{self, Device, kills};
use verbsguard_tests::{Outcome, built, findings, project, run, tap};

/// The rdma-core in the machine.
const VERSION: u32 = 65;

/// Those whose programs are about what the kernel does, and about the life of processes.
const FOLDERS: &[&str] = &["legal::", "misuse::", "process::", "across::"];

/// Programs for the kernel's rxe device, whose provider shares nothing.
const RXE: &str = "rxe";

/// For the boot and all programs, on a busy machine, in seconds.
const LIMIT: &str = "900";

/// Random programs in the boot.
const SOAK: u64 = 240;

/// `scripts/kernel-lab` says so where Debian's packages cannot be had.
const SKIPPED: i32 = 77;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials(arguments.list) {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials(only_names: bool) -> Outcome<Vec<Trial>> {
    let mut programs = program::all()?;
    programs.retain(|program| FOLDERS.iter().any(|folder| program.name.starts_with(folder)));
    programs.extend(program::of(RXE)?);
    if only_names {
        return Ok(programs.iter().map(|program| Trial::test(program.name.clone(), || Ok(()))).collect());
    }
    let (unfit, fit): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| unfit(program).is_some());
    let said = match boot(&fit)? {
        Ok(said) => said,
        Err(why) => {
            let trial = Trial::test("kernel_lab", || Ok(()));
            return Ok(vec![trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true)]);
        }
    };
    let mut trials = tap::trials(&said, "truth::");
    trials.extend(soak(&said));
    if !said.lines().any(|line| line.starts_with("1..")) {
        return Err(format!("the table of truths was not played to its end:\n{said}"));
    }
    let plays = plays(&said);
    for program in fit {
        let play = plays.get(&program.name).cloned();
        trials.push(Trial::test(program.name.clone(), move || Ok(judge(&program, play.as_ref())?)));
    }
    for program in unfit {
        let why = unfit_reason(&program);
        trials.push(Trial::test(program.name, || Ok(())).with_kind(why).with_ignored_flag(true));
    }
    Ok(trials)
}

/// What the random programs came to, and what they left in the ledger.
fn soak(said: &str) -> Vec<Trial> {
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("soak: ")).collect();
    let all = format!("1..{}", soak_cases().matches("\ncase ").count());
    let left = said.lines().find(|line| line.starts_with("soak-left:")).unwrap_or("soak-left: not asked");
    let end = match (lines.contains(&all.as_str()), left) {
        (true, "soak-left:") => Ok(()),
        (true, _) => Err(Failed::from(left)),
        (false, _) => Err(Failed::from(format!("not played to the end:\n{}", lines.join("\n")))),
    };
    let mut trials = tap::trials(&lines.join("\n"), "soak::");
    let killed = judge_kills(said);
    trials.push(Trial::test("soak::kills", move || Ok(killed?)));
    trials.push(Trial::test("soak::all_were_played_and_nothing_is_left", move || end));
    trials
}

/// Processes that were killed at any moment.
fn judge_kills(said: &str) -> Outcome {
    let with = |prefix| said.lines().filter_map(|line| line.strip_prefix(prefix)).collect::<Vec<&str>>();
    let parse = |line: &&str| serde_json::from_str(line).map_err(|error| format!("not JSON ({error}): {line}"));
    let told = with("kills-log: ").iter().map(parse).collect::<Result<Vec<Value>, _>>()?;
    let printed = with("kills: ").join("\n");
    kills::judge(&printed, &told).map_err(|why| format!("{why}\n{printed}"))
}

/// What was found before, and random programs, half of them always the same.
fn soak_cases() -> String {
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let seeds = (0..SOAK / 2).chain(fresh..fresh + SOAK / 2);
    let scripts = seeds.map(|seed| soak::program(seed, Device::Real).script(&format!("seed {seed}")));
    include_str!("../tests-kernel/guarded/cases").to_owned() + "\n" + &scripts.collect::<String>()
}

/// Why a program has nothing to show in the machine.
fn unfit(program: &Program) -> Option<String> {
    let expectation = &program.expectation;
    expectation.unfit(VERSION).or_else(|| expectation.no_lab.clone())
}

fn unfit_reason(program: &Program) -> String {
    format!("skipped: {}", unfit(program).unwrap_or_default())
}

/// Boots with these programs. The console's text, or why that cannot be had here.
fn boot(programs: &[Program]) -> Outcome<Result<String, String>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
    let _ = fs::remove_dir_all(&folder);
    let files = folder.join("files");
    write(&files.join("play"), include_str!("lab/play"))?;
    write(&files.join("parity"), include_str!("lab/parity"))?;
    write(&files.join("soak/run"), include_str!("lab/soak"))?;
    write(&files.join("soak/cases"), &soak_cases())?;
    let killed = project().join("tests-c/soak/kills.c");
    RdmaCore::find(VERSION)?.compile_for_lab(&killed, &files.join("soak/kills"))?;
    for name in ["verbsguard", "libverbsguard.so.0", "libverbsguard-audit.so"] {
        copy(&built(name)?, &files.join(name))?;
    }
    compile(programs, &files)?;
    let mut list = String::from("/lab/truth/truth /lab/truth/cases; true\nsh soak/run\n");
    // The programs for rxe last: until then there is one device.
    let (rxe, others): (Vec<_>, Vec<_>) = programs.iter().partition(|program| is_for_rxe(program));
    list.extend(others.into_iter().map(|program| play("play", program)));
    list.push_str("sh /lab/rxe\n");
    list.extend(rxe.into_iter().flat_map(|program| [play("play", program), play("parity", program)]));
    for program in programs {
        write(&files.join(folder_of(program)).join("command"), &command(program))?;
    }
    write(&folder.join("list"), &list)?;
    let mut lab = Command::new(project().join("scripts/kernel-lab"));
    lab.args(["--limit", LIMIT]).arg("--files").arg(&files).arg("--list").arg(folder.join("list"));
    let done = lab.output().map_err(|error| format!("cannot run {lab:?}: {error}"))?;
    let (said, why) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    match done.status.code() {
        Some(SKIPPED) => Ok(Err(why.trim().replace('\n', " "))),
        Some(0 | 1) => Ok(Ok(said.into_owned())),
        _ => Err(format!("scripts/kernel-lab failed ({}):\n{why}", done.status)),
    }
}

fn is_for_rxe(program: &Program) -> bool {
    program.name.starts_with(RXE)
}

/// A line of the machine's list.
fn play(script: &str, program: &Program) -> String {
    format!("sh {script} {} {}\n", folder_of(program), program.name)
}

fn folder_of(program: &Program) -> String {
    program.name.replace("::", "-")
}

fn write(path: &Path, text: &str) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let copied = fs::copy(from, to).and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(0o755)));
    copied.map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

/// Compiles all programs, on all processors.
fn compile(programs: &[Program], files: &Path) -> Outcome {
    let core = RdmaCore::find(VERSION)?;
    let next = AtomicUsize::new(0);
    let work = || -> Outcome {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let folder = files.join(folder_of(program));
            fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            core.compile_for_lab(&program.source, &folder.join("program"))?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err("a compiling thread died".into())))
    })
}

/// What the machine's shell runs for a program.
fn command(program: &Program) -> String {
    let expectation = &program.expectation;
    let mut words = vec!["exec /lab/files/verbsguard run".to_owned()];
    words.push(match expectation.log {
        Log::Json => "--json log".into(),
        Log::Stderr => String::new(),
        Log::File => "-o log=log".into(),
    });
    let options = expectation.options.as_deref().unwrap_or_default();
    let options = options.split(':').filter(|option| !option.is_empty());
    words.extend(options.map(|option| format!("-o '{option}'")));
    words.extend(expectation.run.iter().cloned());
    words.push("-- ./program".into());
    let exports = expectation.env.iter().map(|(name, value)| format!("export {name}='{value}'\n"));
    let (scribble, byte) = run::SCRIBBLE;
    format!("export {scribble}={byte}\n{}{}\n", exports.collect::<String>(), words.join(" "))
}

/// What the machine printed of one program.
#[derive(Clone, Debug, Default)]
struct Play {
    status: Option<i32>,
    log: Vec<String>,
    output: String,
    live: String,
    /// How it differs without the guard, where that was asked.
    differs: Option<String>,
}

/// The plays on the console, by program. The grammar is that of `lab/play`.
fn plays(said: &str) -> HashMap<String, Play> {
    let mut plays: HashMap<String, Play> = HashMap::new();
    let mut now = None;
    for line in said.lines() {
        let Some((what, rest)) = line.strip_prefix("play-").and_then(|line| line.split_once(": ")) else { continue };
        if what == "begin" {
            now = Some(plays.entry(rest.to_owned()).or_default());
        }
        let Some(play) = &mut now else { continue };
        match what {
            "status" => play.status = rest.parse().ok(),
            "log" => play.log.push(rest.to_owned()),
            "output" => play.output.push_str(&format!("{rest}\n")),
            "differs" => play.differs = Some(rest.to_owned()),
            "live" => rest.clone_into(&mut play.live),
            _ => {}
        }
    }
    plays
}

fn judge(program: &Program, play: Option<&Play>) -> Outcome {
    let play = play.ok_or("the machine did not come to this program")?;
    let mut wrong = String::new();
    let wanted = match program.expectation.end() {
        End::Status(status) => status,
        // As a shell says it.
        End::Signal(signal) => 128 + signal,
    };
    if play.status != Some(wanted) {
        wrong.push_str(&format!("ended with {:?}, expected {wanted}\n", play.status));
    }
    if is_for_rxe(program) && play.differs.as_deref() != Some("") {
        wrong.push_str(&format!("differs without the guard: {:?}\n", play.differs));
    }
    if !play.live.is_empty() {
        wrong.push_str(&format!("left alive in the kernel: {}\n", play.live));
    }
    if program.expectation.log == Log::Json {
        let parse = |line: &String| serde_json::from_str(line).map_err(|error| format!("not JSON ({error}): {line}"));
        let lines = play.log.iter().map(parse).collect::<Result<Vec<Value>, _>>()?;
        wrong.push_str(&findings::compare(&lines, &program.expectation).err().unwrap_or_default());
    }
    let said = |shown: &str| play.output.contains(shown) || play.log.iter().any(|line| line.contains(shown));
    for shown in program.expectation.shows.iter().filter(|shown| !said(shown)) {
        wrong.push_str(&format!("does not show: {shown}\n"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong}--- output\n{}", play.output)) }
}
