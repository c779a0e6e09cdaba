//! `scripts/soak`: random programs and random kills, for as long as is wanted.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use verbsguard_tests::soak::play::{self, Stage};
use verbsguard_tests::soak::{Device, kills};
use verbsguard_tests::{Outcome, project};

const USAGE: &str = "\
usage: scripts/soak [--seed N] [--count N] [--minutes N] [--kills N] [--reuse] [--replay FILE]

Random programs of several processes on the emulated device under the guard, judged by a reference model and by the
kernel's counts, and processes that are killed at any moment. Without --count or --minutes it goes on until something
fails or it is interrupted.

  --seed N       the first program's seed (default: the clock's seconds)
  --count N      how many programs
  --minutes N    for how long
  --kills N      processes killed after each 200 programs (default 1000; 0: none)
  --reuse        the device gives freed numbers out again at once
  --replay FILE  plays the cases of a file instead, such as the script of a program that failed

Exit status: 0 nothing failed, 1 something failed, 2 it cannot be run.
";

/// Programs in one run of the emulated device, and in a round.
const BATCH: u64 = 50;
const ROUND: u64 = 200;

struct Wanted {
    seed: u64,
    count: Option<u64>,
    minutes: Option<u64>,
    kills: usize,
    device: Device,
    replay: Option<PathBuf>,
}

fn main() -> ExitCode {
    let wanted = match wanted() {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("soak: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let stage = match Stage::new(&project().join("build/soak")) {
        Ok(stage) => stage,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::from(2);
        }
    };
    match soak(&stage, &wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED {error}");
            ExitCode::FAILURE
        }
    }
}

/// None where help is asked for.
fn wanted() -> Outcome<Option<Wanted>> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let mut wanted = Wanted { seed, count: None, minutes: None, kills: 1000, device: Device::Emulated, replay: None };
    let mut arguments = env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--help" || option == "-h" {
            return Ok(None);
        }
        if option == "--reuse" {
            wanted.device = Device::Real;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{option} {value}: not a number"));
        match option.as_str() {
            "--seed" => wanted.seed = number()?,
            "--count" => wanted.count = Some(number()?),
            "--minutes" => wanted.minutes = Some(number()?),
            "--kills" => wanted.kills = usize::try_from(number()?).map_err(|_| "too many kills")?,
            "--replay" => wanted.replay = Some(value.into()),
            _ => return Err(format!("no option {option} here")),
        }
    }
    Ok(Some(wanted))
}

fn soak(stage: &Stage, wanted: &Wanted) -> Outcome {
    if let Some(file) = &wanted.replay {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        return play::cases(stage, &text, "replay");
    }
    let start = Instant::now();
    let mut done = 0;
    let is_over = |done: u64| {
        wanted.count.is_some_and(|count| done >= count)
            || wanted.minutes.is_some_and(|minutes| start.elapsed() >= Duration::from_secs(minutes * 60))
    };
    while !is_over(done) {
        let first = wanted.seed.wrapping_add(done);
        let many = wanted.count.map_or(BATCH, |count| BATCH.min(count - done));
        play::seeds(stage, wanted.device, first..first + many, "batch")?;
        done += many;
        println!("seeds {first} to {}: {done} programs, {} s", first + many - 1, start.elapsed().as_secs());
        if wanted.kills > 0 && (done.is_multiple_of(ROUND) || is_over(done)) {
            println!("{}", kills::kills(stage, first, wanted.kills, "kills")?);
        }
    }
    Ok(())
}
