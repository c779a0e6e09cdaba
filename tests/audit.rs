//! The auditor: the programs of tests-c/audit, which reach verbs by dlopen and dlsym, on every rdma-core.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::expect::End;
use verbsguard_tests::program::{self, Special};
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, built, output_of, project, run};

/// What the programs open beside themselves.
const BESIDE: [&str; 4] = ["libibverbs-1.so", "libmlx5-1.so", "plugin-lazy.so", "plugin-now.so"];

/// A premise of a program does not hold (tests-c/common/trace.h).
const BROKEN: i32 = 99;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("audit: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let mut trials = vec![Trial::test("needs_nothing", || Ok(needs_nothing()?))];
    let programs = program::special("audit")?;
    for version in VERSIONS {
        let bench = Arc::new(Bench::new(RdmaCore::find(*version)?)?);
        let asking = bench.clone();
        trials.push(Trial::test(format!("{version}::every_symbol"), move || Ok(every_symbol(&asking)?)));
        for program in &programs {
            let (bench, program) = (bench.clone(), program.clone());
            let name = format!("{version}::{}", program.name);
            trials.push(Trial::test(name, move || Ok(bench.test(&program)?)));
        }
    }
    Ok(trials)
}

/// Loaded before the C library: it may need none, and give the loader the three functions that it looks for.
fn needs_nothing() -> Outcome {
    let auditor = built("libverbsguard-audit.so")?;
    let dynamic = output_of(Command::new("readelf").args(["--wide", "--dynamic"]).arg(&auditor))?;
    let symbols = output_of(Command::new("readelf").args(["--wide", "--dyn-syms"]).arg(&auditor))?;
    let mut names: Vec<&str> = symbols.lines().filter(|line| line.contains("GLOBAL")).collect();
    names.iter_mut().for_each(|line| *line = line.rsplit(' ').next().unwrap_or(""));
    names.sort_unstable();
    let size = fs::metadata(&auditor).map_err(|error| error.to_string())?.len();
    if dynamic.contains("(NEEDED)") || names != ["la_objopen", "la_symbind64", "la_version"] || size > 8192 {
        return Err(format!("{size} bytes, {names:?}\n{dynamic}"));
    }
    Ok(())
}

/// An rdma-core, with a folder that holds what the programs open beside themselves.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
}

impl Bench {
    fn new(core: RdmaCore) -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("audit-{}", core.version));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let bench = Bench { core, folder };
        bench.core.bundle(&bench.folder)?;
        for binding in ["lazy", "now"] {
            let mut cc = bench.cc(&project().join("tests-c/audit/plugin.c"), &format!("plugin-{binding}.so"));
            cc.args(["-shared", "-fPIC", "-fplt", "-libverbs"]).arg(format!("-Wl,-z,{binding}"));
            output_of(&mut cc)?;
        }
        Ok(bench)
    }

    fn cc(&self, source: &Path, out: &str) -> Command {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(self.core.include());
        cc.arg("-o").arg(self.folder.join(out)).arg(source).arg(format!("-L{}", self.core.lib().display()));
        // The bundled copies find each other beside the program.
        cc.arg(format!("-Wl,-rpath,{}", self.folder.display()));
        self.core.rpath(&mut cc);
        cc
    }

    fn compile(&self, program: &Special) -> Outcome {
        let mut cc = self.cc(&program.source, &program.name);
        cc.args(&program.links);
        output_of(&mut cc).map(drop)
    }

    /// A fresh folder that holds what the programs open beside themselves.
    fn scratch(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(format!("{name}.run"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        for beside in BESIDE {
            let link = symlink(self.folder.join(beside), folder.join(beside));
            link.map_err(|error| format!("{beside}: {error}"))?;
        }
        Ok(folder)
    }

    /// A script that starts the program.
    fn launcher(&self, program: &Path) -> Outcome<PathBuf> {
        let path = program.with_extension("sh");
        let at = |error| format!("{}: {error}", path.display());
        fs::write(&path, format!("#!/bin/sh\nexec '{}'\n", program.display())).map_err(at)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at)?;
        Ok(path)
    }

    /// `verbsguard run` adds the auditor by itself, also where it cannot see that the program needs it, and then the program finds what it expects; without the auditor the
    /// program says that it does not find the guard.
    fn test(&self, program: &Special) -> Outcome {
        self.compile(program)?;
        let (path, folder) = (self.folder.join(&program.name), self.scratch(&program.name)?);
        run::guarded(&path, &folder, &program.expectation)?;
        let beside = self.scratch(&format!("{}-started", program.name))?;
        run::guarded(&self.launcher(&path)?, &beside, &program.expectation)?;
        let without = run::run(&path, &folder, &["--audit=off"], &[])?;
        let expected = if program.says("unaudited: passes") { program.expectation.end() } else { End::Status(BROKEN) };
        if without.end != expected {
            return Err(format!("without the auditor it ended with {:?}: {}", without.end, without.stderr));
        }
        Ok(())
    }

    /// Runs `ask` with these questions, with the auditor and nothing else of ours but the guard.
    fn ask(&self, questions: &str) -> Outcome<String> {
        let input = self.folder.join("questions");
        fs::write(&input, questions).map_err(|error| format!("questions: {error}"))?;
        output_of(&mut self.cc(&project().join("tests-c/audit/ask.c"), "ask"))?;
        let mut command = Command::new(self.folder.join("ask"));
        command.stdin(fs::File::open(input).map_err(|error| format!("questions: {error}"))?);
        command.env("LD_PRELOAD", built("libverbsguard.so.0")?).env("LD_AUDIT", built("libverbsguard-audit.so")?);
        output_of(&mut command)
    }
}

/// Of all that the real libraries define at any node, what the guard has at that node is answered with the guard's,
/// and nothing else is.
fn every_symbol(bench: &Bench) -> Outcome {
    let guard = defined(&built("libverbsguard.so.0")?)?;
    let (mut questions, mut expected) = (String::new(), Vec::new());
    for library in ["libibverbs.so.1", "libmlx5.so.1"] {
        for symbol in defined(&bench.core.lib().join(library))? {
            let whose = if guard.contains(&symbol) { "guard" } else { "real" };
            questions.push_str(&format!("{library} {symbol}\n"));
            expected.push(format!("{symbol} {whose}"));
        }
    }
    let answers = bench.ask(&questions)?;
    let found: Vec<&str> = answers.lines().collect();
    let guarded = found.iter().filter(|line| line.ends_with(" guard")).count();
    let wrong: Vec<_> = found.iter().zip(&expected).filter(|(found, expected)| *found != expected).collect();
    if found.len() != expected.len() || !wrong.is_empty() || guarded < 18 {
        let counts = format!("{} of {} answers, {guarded} the guard's", found.len(), expected.len());
        return Err(format!("{counts}; found and expected: {wrong:?}"));
    }
    Ok(())
}

/// The functions that a library defines, as "NAME NODE".
fn defined(library: &Path) -> Outcome<Vec<String>> {
    let table = output_of(Command::new("readelf").args(["--wide", "--dyn-syms"]).arg(library))?;
    let symbol = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, node) = words.get(7)?.split_once('@')?;
        let function = words[3] == "FUNC" && words[6] != "UND";
        function.then(|| format!("{name} {}", node.trim_start_matches('@')))
    };
    Ok(table.lines().filter_map(symbol).collect())
}
