//! Random programs of several processes, and processes that are killed at any moment, on the emulated device
//! (docs/testing.md). `scripts/soak` goes on for longer.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::soak::play::Stage;
use verbsguard_tests::soak::{Device, kills, play};
use verbsguard_tests::{Outcome, project};

/// How many programs a trial plays in one run of the emulated device.
const BATCH: u64 = 30;

/// Batches of programs that are the same each time.
const FIXED: u64 = 3;

/// How many processes a trial kills.
const KILLS: usize = 300;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let stage = Arc::new(Stage::new(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("soak"))?);
    // In the trial's name, so that it is printed where it fails.
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let mut trials = Vec::new();
    for first in (0..FIXED).map(|batch| batch * BATCH).chain([fresh]) {
        for (device, how) in [(Device::Emulated, "programs"), (Device::Real, "programs_with_reuse")] {
            let stage = stage.clone();
            let name = format!("{how}::{first}_and_{}_more", BATCH - 1);
            let seeds = first..first + BATCH;
            trials.push(Trial::test(name.clone(), move || Ok(play::seeds(&stage, device, seeds, &name)?)));
        }
    }
    for seed in [1, fresh] {
        let stage = stage.clone();
        let name = format!("kills::{seed}");
        trials.push(Trial::test(name.clone(), move || Ok(kills::kills(&stage, seed, KILLS, &name).map(drop)?)));
    }
    let (cases, wrong) = (read("cases")?, read("wrong")?);
    let judge = stage.clone();
    trials.push(Trial::test("the_player_sees_mistakes", move || Ok(play::wrong(&judge, &wrong, "mistakes")?)));
    trials.push(Trial::test("found_before", move || Ok(play::cases(&stage, &cases, "found-before")?)));
    Ok(trials)
}

fn read(name: &str) -> Outcome<String> {
    let path = project().join("tests-kernel/guarded").join(name);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}
