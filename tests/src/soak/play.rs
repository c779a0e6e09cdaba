//! Plays programs on the emulated device, and makes those that fail small.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Program;
use crate::rdma_core::RdmaCore;
use crate::{Outcome, built, project};

/// Where programs are played: the player, and a folder for what it leaves.
#[derive(Clone, Debug)]
pub struct Stage {
    player: PathBuf,
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
    /// Builds the player in this folder, for rdma-core 65.
    pub fn new(folder: &Path) -> Outcome<Stage> {
        io(folder, fs::create_dir_all(folder))?;
        let sources = project().join("tests-kernel/truth");
        let entries = io(&sources, fs::read_dir(&sources))?.flatten().map(|entry| entry.path());
        let sources: Vec<_> = entries.filter(|path| path.extension().is_some_and(|c| c == "c")).collect();
        let player = folder.join("truth");
        RdmaCore::find(65)?.build(&sources, &player)?;
        Ok(Stage { player, folder: folder.to_owned() })
    }

    /// A fresh folder, with one in it for a ledger.
    pub(super) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        let ledger = folder.join("ledger");
        io(&ledger, fs::create_dir_all(&ledger))?;
        // Files of a ledger are mapped only where no other user can write them.
        io(&ledger, fs::set_permissions(&ledger, fs::Permissions::from_mode(0o700)))?;
        Ok(folder)
    }

    /// The player under the guard on an emulated device, with a time limit and the log and ledger in `folder`.
    pub(super) fn command(&self, folder: &Path, limit: usize) -> Outcome<Command> {
        let (guard, ledger, log) = (built("verbsguard")?, folder.join("ledger"), folder.join("log"));
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &limit.to_string()]).arg(&guard).args(["run", "--emulate"]);
        command.args(["-o", "stack=0", "-o", "limit=0", "-o", &format!("ledger={}", ledger.display())]);
        command.arg("--json").arg(&log).arg("--").arg(&self.player).stdin(Stdio::null());
        command.env_remove("LD_PRELOAD").env_remove("VERBSGUARD_OPTIONS").env("TRUTH_FINDINGS", &log);
        command.env("TRUTH_CONTROL", format!("{} emu-control", guard.display()));
        command.env("TRUTH_LEDGER", format!("{} ps --json --ledger {}", guard.display(), ledger.display()));
        Ok(command)
    }

    /// Plays these scripts in one run of the emulated device, under the guard; answers those that failed.
    pub fn play(&self, scripts: &[String], name: &str) -> Outcome<Vec<Failure>> {
        let folder = self.folder(name)?;
        let cases = folder.join("cases");
        io(&cases, fs::write(&cases, scripts.concat()))?;
        let mut command = self.command(&folder, 60 + scripts.len())?;
        let done = command.arg(&cases).output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
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

/// The fewest steps with which a program still fails, as far as leaving some out finds them; and why it fails.
pub fn shrink(stage: &Stage, program: &Program, name: &str) -> Outcome<(Program, String)> {
    let mut best = program.clone();
    let mut why = String::new();
    let mut size = best.steps.len().div_ceil(2);
    loop {
        let candidates = best.without(size);
        let scripts: Vec<String> = candidates.iter().map(|one| one.script("shrinking")).collect();
        match stage.play(&scripts, name)?.into_iter().next() {
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
