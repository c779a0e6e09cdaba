//! Several copies of libibverbs and libmlx5 in one process: the programs of tests-c/copies, which open two plugins, one
//! linked with the system's copies and one with copies as a wheel brings them.
//!
//! `cargo test -p verbsguard-tests --test copies -- 65+44` runs those where 44 is brought beside 65.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::program::{self, Special};
use verbsguard_tests::rdma_core::RdmaCore;
use verbsguard_tests::{Outcome, output_of, project, run};

/// The system's rdma-core and the one that is brought. 44 and 56 have the same private interface, 65 has another.
const PAIRS: [(u32, u32); 5] = [(65, 44), (65, 56), (65, 65), (56, 44), (44, 44)];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("copies: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let mut trials = Vec::new();
    let programs = program::special("copies")?;
    for (system, bundled) in PAIRS {
        let bench = Arc::new(Bench::new(RdmaCore::find(system)?, &RdmaCore::find(bundled)?)?);
        let alike = (system < 63) == (bundled < 63);
        for program in programs.iter().filter(|program| !(alike && program.says("private: differs"))) {
            let mut trial = |name: String, test: fn(&Bench, &Special) -> Outcome| {
                let (bench, program) = (bench.clone(), program.clone());
                trials.push(Trial::test(format!("{system}+{bundled}::{name}"), move || Ok(test(&bench, &program)?)));
            };
            trial(program.name.clone(), Bench::guarded);
            if program.expectation.no_parity.is_none() {
                trial(format!("parity::{}", program.name), Bench::parity);
            }
        }
    }
    Ok(trials)
}

/// The system's rdma-core, and a folder with the copies and the plugins.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
}

impl Bench {
    fn new(core: RdmaCore, brought: &RdmaCore) -> Outcome<Bench> {
        let name = format!("copies-{}-{}", core.version, brought.version);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        brought.bundle(&folder)?;
        let bench = Bench { core, folder };
        let source = project().join("tests-c/copies/side.c");
        let mut system = bench.cc(&bench.core, &source, "system.so");
        output_of(system.args(["-shared", "-fPIC", "-lmlx5", "-libverbs"]))?;
        let mut bundled = bench.cc(brought, &source, "bundled.so");
        bundled.arg(format!("-L{}", bench.folder.display()));
        output_of(bundled.args(["-shared", "-fPIC", "-l:libmlx5-1.so", "-l:libibverbs-1.so"]))?;
        Ok(bench)
    }

    /// Compiles against the headers and libraries of `core`, to run where the bench's own is the system's.
    fn cc(&self, core: &RdmaCore, source: &Path, out: &str) -> Command {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(core.include());
        cc.arg("-o").arg(self.folder.join(out)).arg(source).arg(format!("-L{}", core.lib().display()));
        // The copies find each other beside the program.
        cc.arg(format!("-Wl,-rpath,{}", self.folder.display()));
        self.core.rpath(&mut cc);
        cc
    }

    /// Trials run at once: each has its own file.
    fn compile(&self, program: &Special, out: &str) -> Outcome<PathBuf> {
        let mut cc = self.cc(&self.core, &program.source, out);
        output_of(cc.args(&program.links))?;
        Ok(self.folder.join(out))
    }

    /// A fresh folder with what the programs open beside themselves.
    fn scratch(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(format!("{name}.run"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        for beside in ["libibverbs-1.so", "libmlx5-1.so", "system.so", "bundled.so"] {
            let link = std::os::unix::fs::symlink(self.folder.join(beside), folder.join(beside));
            link.map_err(|error| format!("{beside}: {error}"))?;
        }
        Ok(folder)
    }

    fn guarded(&self, program: &Special) -> Outcome {
        let name = &program.name;
        run::guarded(&self.compile(program, name)?, &self.scratch(name)?, &program.expectation)
    }

    fn parity(&self, program: &Special) -> Outcome {
        let name = format!("parity-{}", program.name);
        run::parity(&self.compile(program, &name)?, &self.scratch(&name)?, &program.expectation)
    }
}
