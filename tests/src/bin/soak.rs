//! `scripts/soak`.

use std::path::Path;
use std::process::ExitCode;

use verbsguard_tests::soak::play::{Stage, programs, shrink};
use verbsguard_tests::soak::Device;

fn main() -> ExitCode {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|one| one.parse().ok()).collect();
    let (first, count) = (arguments[0], arguments[1]);
    let stage = Stage::new(Path::new("/tmp/soakw/stage")).unwrap();
    let programs = programs(Device::Emulated, first..first + count);
    let scripts: Vec<String> = programs.iter().map(|(seed, one)| one.script(&format!("seed {seed}"))).collect();
    match stage.play(&scripts, "batch") {
        Ok(None) => println!("ok"),
        Ok(Some(failure)) => {
            let (seed, program) = &programs[failure.index];
            println!("seed {seed} failed: {}", failure.why);
            let (small, why) = shrink(&stage, program, "shrink").unwrap();
            println!("{}\n{why}", small.script("shrunk"));
        }
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}
