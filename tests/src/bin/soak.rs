//! `scripts/soak`.

use std::path::Path;
use std::process::ExitCode;

use verbsguard_tests::soak::play::{Stage, shrink};
use verbsguard_tests::soak::{Device, program};

fn main() -> ExitCode {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|one| one.parse().ok()).collect();
    let (first, count) = (arguments[0], arguments[1]);
    let stage = Stage::new(Path::new("/tmp/soakw/stage")).unwrap();
    let programs: Vec<_> = (first..first + count).map(|seed| (seed, program(seed, Device::Emulated))).collect();
    let scripts: Vec<String> = programs.iter().map(|(seed, one)| one.script(&format!("seed {seed}"))).collect();
    let start = std::time::Instant::now();
    match stage.play(&scripts, "batch") {
        Ok(failures) => {
            println!("{} failed in {:?}", failures.len(), start.elapsed());
            for failure in &failures {
                println!("{} {:.200}", programs[failure.index].0, failure.why);
            }
            for failure in failures.iter().take(*arguments.get(2).unwrap_or(&3) as usize) {
                let (seed, program) = &programs[failure.index];
                println!("seed {seed} failed: {}", failure.why);
                let (small, why) = shrink(&stage, program, "shrink").unwrap();
                println!("{}\n{why}", small.script("shrunk"));
            }
        }
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}
