//! Random programs of several processes, and processes that are killed at any moment, on the emulated device
//! (docs/testing.md). `scripts/soak` goes on for longer.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, iter};

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::soak::play::Stage;
use verbsguard_tests::soak::{kills, play};
use verbsguard_tests::{Outcome, project};

/// How many programs a trial plays in one run of the emulated device.
const BATCH: u64 = 40;

/// Batches of programs that are the same each time.
const FIXED: u64 = 4;

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
    for first in (0..FIXED).map(|batch| batch * BATCH).chain(iter::once(fresh)) {
        let stage = stage.clone();
        let name = format!("programs::{first}_and_{}_more", BATCH - 1);
        trials.push(Trial::test(name.clone(), move || Ok(play::seeds(&stage, first..first + BATCH, &name)?)));
    }
    for seed in [1, fresh] {
        let stage = stage.clone();
        let name = format!("kills::{seed}");
        trials.push(Trial::test(name.clone(), move || Ok(kills::kills(&stage, seed, KILLS, &name).map(drop)?)));
    }
    let cases = project().join("tests-kernel/guarded/cases");
    let cases = fs::read_to_string(&cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    trials.push(Trial::test("found_before", move || Ok(play::cases(&stage, &cases, "found-before")?)));
    Ok(trials)
}
