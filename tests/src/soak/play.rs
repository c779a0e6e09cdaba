//! Plays programs on the emulated device, and makes those that fail small.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::fs;

use super::{Device, Program};
use crate::rdma_core::RdmaCore;
use crate::{Outcome, built, project};

/// Where programs are played: the player, and a folder for what it leaves.
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

impl Stage {
    /// Builds the player in this folder, for rdma-core 65.
    pub fn new(folder: &Path) -> Outcome<Stage> {
        let make = |path: &Path| fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()));
        make(folder)?;
        let sources = project().join("tests-kernel/truth");
        let entries = fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
        let sources: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|c| c == "c")).collect();
        let player = folder.join("truth");
        RdmaCore::find(65)?.build(&sources, &player)?;
        Ok(Stage { player, folder: folder.to_owned() })
    }

    /// Plays these scripts in one run of the emulated device, under the guard; answers the first failure.
    pub fn play(&self, scripts: &[String], name: &str) -> Outcome<Option<Failure>> {
        let folder = self.folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        let ledger = folder.join("ledger");
        fs::create_dir_all(&ledger).map_err(|error| format!("{}: {error}", ledger.display()))?;
        private(&ledger)?;
        let cases = folder.join("cases");
        fs::write(&cases, scripts.concat()).map_err(|error| format!("{}: {error}", cases.display()))?;
        let (guard, log) = (built("verbsguard")?, folder.join("log"));
        let limit = (60 + scripts.len()).to_string();
        let mut command = Command::new("timeout");
        command.args(["-k", "5", &limit]).arg(&guard).args(["run", "--emulate", "-o", "stack=0", "-o", "limit=0", "-o"]);
        command.arg(format!("ledger={}", ledger.display())).arg("--json").arg(&log).arg("--");
        command.arg(&self.player).arg(&cases).stdin(Stdio::null()).env_remove("LD_PRELOAD").env_remove("VERBSGUARD_OPTIONS");
        command.env("TRUTH_CONTROL", format!("{} emu-control", guard.display())).env("TRUTH_FINDINGS", &log);
        command.env("TRUTH_LEDGER", format!("{} ps --json --ledger {}", guard.display(), ledger.display()));
        let done = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&done.stdout);
        let noise = String::from_utf8_lossy(&done.stderr);
        if let Some(failure) = first_failure(&said) {
            return Ok(Some(failure));
        }
        let wanted = format!("{} passed, 0 failed, 0 skipped", scripts.len());
        if !said.lines().any(|line| line == wanted) || !done.status.success() {
            return Err(format!("{} did not play to its end ({}):\n{said}{noise}", cases.display(), done.status));
        }
        Ok(None)
    }
}

/// The guard maps the files of a ledger that only its user can write.
fn private(path: &Path) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|error| format!("{}: {error}", path.display()))
}

/// In the player's Test Anything Protocol.
fn first_failure(said: &str) -> Option<Failure> {
    let at = said.find("not ok ")?;
    let rest = &said[at + "not ok ".len()..];
    let number: usize = rest.split(' ').next()?.parse().ok()?;
    let why: Vec<&str> = rest.lines().skip(1).take_while(|line| line.starts_with('#')).collect();
    Some(Failure { index: number - 1, why: why.join("\n") })
}

/// The fewest steps with which a program still fails, as far as leaving some out finds them.
pub fn shrink(stage: &Stage, program: &Program, name: &str) -> Outcome<(Program, String)> {
    let mut best = program.clone();
    let mut why = String::new();
    let mut size = best.steps.len().div_ceil(2);
    loop {
        let candidates: Vec<Program> = (0..best.steps.len())
            .step_by(size)
            .map(|at| {
                let mut steps = best.steps.clone();
                steps.drain(at..(at + size).min(steps.len()));
                Program { steps, ..best.clone() }
            })
            .collect();
        let scripts: Vec<String> = candidates.iter().map(|one| one.script("shrinking")).collect();
        match stage.play(&scripts, name)? {
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

/// Programs of these seeds.
pub fn programs(device: Device, seeds: impl Iterator<Item = u64>) -> Vec<(u64, Program)> {
    seeds.map(|seed| (seed, super::program(seed, device))).collect()
}
