//! Plays programs on the emulated device, and makes those that fail small.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Device, Program};
use crate::rdma_core::RdmaCore;
use crate::{Outcome, built, project};

/// Where programs are played: the player, and a folder for what it leaves.
#[derive(Clone, Debug)]
pub struct Stage {
    player: PathBuf,
    pub(super) killed: PathBuf,
    folder: PathBuf,
}

/// A program that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its place among those that were played.
    pub index: usize,
    /// What the player says.
    pub why: String,
}

/// Folders are made, files are written: what can go wrong there stops everything.
pub(super) fn io<T>(path: &Path, done: std::io::Result<T>) -> Outcome<T> {
    done.map_err(|error| format!("{}: {error}", path.display()))
}

impl Stage {
    /// Builds the player, and the program whose processes are killed, in this folder, for rdma-core 65.
    pub fn new(folder: &Path) -> Outcome<Stage> {
        io(folder, fs::create_dir_all(folder))?;
        let sources = project().join("tests-kernel/truth");
        let entries = io(&sources, fs::read_dir(&sources))?.flatten().map(|entry| entry.path());
        let sources: Vec<_> = entries.filter(|path| path.extension().is_some_and(|c| c == "c")).collect();
        let (player, killed) = (folder.join("truth"), folder.join("kills"));
        let core = RdmaCore::find(65)?;
        core.build(&sources, &player)?;
        core.build(&[project().join("tests-c/soak/kills.c")], &killed)?;
        Ok(Stage { player, killed, folder: folder.to_owned() })
    }

    /// A fresh folder, with one in it for a ledger.
    pub(super) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join("runs").join(name);
        let _ = fs::remove_dir_all(&folder);
        let ledger = folder.join("ledger");
        io(&ledger, fs::create_dir_all(&ledger))?;
        // Files of a ledger are mapped only where no other user can write them.
        io(&ledger, fs::set_permissions(&ledger, fs::Permissions::from_mode(0o700)))?;
        Ok(folder)
    }

    /// A program under the guard on an emulated device, with a time limit in seconds, and log and ledger in `folder`.
    pub(super) fn command(&self, program: &Path, folder: &Path, limit: usize) -> Outcome<Command> {
        let (guard, ledger, log) = (built("verbsguard")?, folder.join("ledger"), folder.join("log"));
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &limit.to_string()]).arg(&guard).args(["run", "--emulate"]);
        command.args(["-o", "stack=0", "-o", "limit=0", "-o", &format!("ledger={}", ledger.display())]);
        command.arg("--json").arg(&log).arg("--").arg(program).stdin(Stdio::null());
        command.env_remove("LD_PRELOAD").env_remove("VERBSGUARD_OPTIONS").env("TRUTH_FINDINGS", &log);
        let ps = format!("{} ps --json --ledger {}", guard.display(), ledger.display());
        command.env("TRUTH_CONTROL", format!("{} emu-control", guard.display())).env("TRUTH_LEDGER", &ps);
        command.env("SOAK_STATS", format!("{} emu-control stats", guard.display())).env("SOAK_LEDGER", &ps);
        Ok(command)
    }

    /// Plays these scripts in one run of the emulated device, under the guard; answers those that failed. For
    /// [`Device::Real`] it gives its numbers out again at once, as a real device may.
    pub fn play(&self, device: Device, scripts: &[String], name: &str) -> Outcome<Vec<Failure>> {
        let folder = self.folder(name)?;
        let cases = folder.join("cases");
        io(&cases, fs::write(&cases, scripts.concat()))?;
        let mut command = self.command(Path::new("sh"), &folder, 60 + scripts.len())?;
        let ask = if device == Device::Real { "$TRUTH_CONTROL reuse && " } else { "" };
        command.arg("-c").arg(format!("{ask}exec \"$0\" \"$1\"")).arg(&self.player).arg(&cases);
        let done = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&done.stdout);
        let failures = failures(&said);
        let wanted = format!("{} passed, {} failed, 0 skipped", scripts.len() - failures.len(), failures.len());
        if !said.lines().any(|line| line == wanted) {
            let noise = String::from_utf8_lossy(&done.stderr);
            return Err(format!("{} did not play to its end ({}):\n{said}{noise}", cases.display(), done.status));
        }
        if failures.is_empty() {
            is_empty(&folder.join("ledger"))?;
        }
        Ok(failures)
    }
}

/// When the emulation is over no file may be left in the ledger. Its daemon ends a little after the run.
pub(super) fn is_empty(ledger: &Path) -> Outcome {
    let start = Instant::now();
    loop {
        let left: Vec<PathBuf> = io(ledger, fs::read_dir(ledger))?.flatten().map(|entry| entry.path()).collect();
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("left in the ledger: {left:?}"));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// In the player's Test Anything Protocol.
fn failures(said: &str) -> Vec<Failure> {
    let lines: Vec<&str> = said.lines().collect();
    let failure = |(at, line): (usize, &&str)| {
        let number: usize = line.strip_prefix("not ok ")?.split(' ').next()?.parse().ok()?;
        let why: Vec<&str> = lines[at + 1..].iter().take_while(|line| line.starts_with('#')).copied().collect();
        Some(Failure { index: number - 1, why: why.join("\n") })
    };
    lines.iter().enumerate().filter_map(failure).collect()
}

/// Plays the programs of these seeds. One that fails is made small, and the error is its script.
pub fn seeds(stage: &Stage, device: Device, seeds: Range<u64>, name: &str) -> Outcome {
    let programs: Vec<(u64, Program)> = seeds.map(|seed| (seed, super::program(seed, device))).collect();
    let scripts: Vec<String> = programs.iter().map(|(seed, program)| program.script(&format!("seed {seed}"))).collect();
    let name = name.replace("::", "-");
    let Some(failure) = stage.play(device, &scripts, &name)?.into_iter().next() else { return Ok(()) };
    let (seed, program) = &programs[failure.index];
    let (small, why) = shrink(stage, program, &format!("{name}-shrinking"))?;
    let script = small.script(&format!("made small from seed {seed}"));
    Err(format!(
        "seed {seed}: {}

{script}
{why}
(scripts/soak --replay FILE plays such a script)",
        failure.why
    ))
}

/// The cases of a file, each by itself.
fn split(text: &str) -> Vec<String> {
    text.split_inclusive('\n').fold(Vec::new(), |mut scripts, line| {
        if line.starts_with("case ") {
            scripts.push(String::new());
        }
        scripts.last_mut().into_iter().for_each(|script| script.push_str(line));
        scripts
    })
}

/// Plays scripts of which each is wrong: the player has to see it.
pub fn wrong(stage: &Stage, text: &str, name: &str) -> Outcome {
    let scripts = split(text);
    let seen: Vec<usize> = stage.play(Device::Emulated, &scripts, name)?.into_iter().map(|one| one.index).collect();
    match (0..scripts.len()).find(|index| !seen.contains(index)) {
        None if !scripts.is_empty() => Ok(()),
        None => Err("there is no case".into()),
        Some(unseen) => Err(format!("the player passes\n{}", scripts[unseen])),
    }
}

/// Plays scripts that were written down.
pub fn cases(stage: &Stage, text: &str, name: &str) -> Outcome {
    let scripts = split(text);
    match stage.play(Device::Emulated, &scripts, name)?.into_iter().next() {
        None if !scripts.is_empty() => Ok(()),
        None => Err("there is no case".into()),
        Some(failure) => Err(format!("{}\n{}", scripts[failure.index], failure.why)),
    }
}

/// The fewest steps with which a program still fails, as far as leaving some out finds them; and why it fails.
fn shrink(stage: &Stage, program: &Program, name: &str) -> Outcome<(Program, String)> {
    let mut best = program.clone();
    let mut why = String::new();
    let mut size = best.steps.len().div_ceil(2);
    loop {
        let candidates = best.without(size);
        let scripts: Vec<String> = candidates.iter().map(|one| one.script("shrinking")).collect();
        match stage.play(best.device, &scripts, name)?.into_iter().next() {
            Some(failure) => {
                best = candidates[failure.index].clone();
                why = failure.why;
            }
            None if size == 1 => return Ok((best, why)),
            None => size = size.div_ceil(2),
        }
        size = size.min(best.steps.len()).max(1);
    }
}
