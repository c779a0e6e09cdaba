//! The runner: every program of tests-c, on every rdma-core, guarded and compared.
//!
//! `cargo test -p verbsguard-tests --test programs -- 65::misuse` runs some of them.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use verbsguard_core::rules::Rule;
use verbsguard_tests::program::{self, Program};
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, built, output_of, project, run};

/// Rules that no program here can fire, and why.
const ELSEWHERE: &[(&str, &str)] = &[("umem-on-vfio", "the emulated device is no VFIO device")];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("programs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let programs = program::all()?;
    let mut trials = vec![coverage(&programs)];
    for version in VERSIONS {
        let bench = Arc::new(Bench::new(RdmaCore::find(*version)?)?);
        let proving = bench.clone();
        trials.push(Trial::test(format!("{version}::right_libraries"), move || Ok(proving.proof()?)));
        for program in &programs {
            add(&mut trials, &Arc::new(Compiled::new(&bench, program)));
        }
    }
    Ok(trials)
}

/// How a program of several processes is played: the environment that says it.
struct Cast {
    name: String,
    env: Vec<(String, String)>,
}

/// One of several processes is played by children of one process, and by programs of their own; and with as many as it
/// says.
fn casts(Program { name, expectation, .. }: &Program) -> Vec<Cast> {
    let counts = expectation.actors.iter().map(Some);
    let counts: Vec<Option<&String>> = if expectation.actors.is_empty() { vec![None] } else { counts.collect() };
    let ways: &[&str] = if name.starts_with("across::") { &["", "exec"] } else { &[""] };
    let cast = |(count, way): (Option<&String>, &str)| {
        let said = [("ACTORS", Some(way)), ("ACTORS_COUNT", count.map(String::as_str))];
        let said: Vec<_> =
            said.into_iter().filter_map(|(key, value)| Some((key, value.filter(|v| !v.is_empty())?))).collect();
        Cast {
            name: said.iter().map(|(_, value)| format!("::{value}")).collect(),
            env: said.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        }
    };
    counts.into_iter().flat_map(|count| ways.iter().map(move |way| (count, *way))).map(cast).collect()
}

/// A program gives a trial for each cast that compares its findings, one that compares its trace, and one under jemalloc.
fn add(trials: &mut Vec<Trial>, compiled: &Arc<Compiled>) {
    let version = compiled.bench.core.version;
    let Program { name, expectation, .. } = &compiled.program;
    let unfit = expectation.unfit(version);
    let mut trial = |name: String, test: Box<dyn Fn(&Compiled) -> Outcome + Send>| {
        let compiled = compiled.clone();
        let trial = Trial::test(format!("{version}::{name}"), move || Ok(test(&compiled)?));
        trials.push(match &unfit {
            Some(why) => trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true),
            None => trial,
        });
    };
    for cast in casts(&compiled.program) {
        trial(format!("{name}{}", cast.name), Box::new(move |compiled| compiled.guarded(&cast)));
    }
    if expectation.no_parity.is_none() {
        trial(format!("parity::{name}"), Box::new(Compiled::parity));
    }
    if version == VERSIONS[0] && name.starts_with("legal::") {
        trial(format!("jemalloc::{name}"), Box::new(Compiled::under_jemalloc));
    }
}

/// Every rule is fired by a program and nearly fired by another, or it is said above why not.
fn coverage(programs: &[Program]) -> Trial {
    let fires =
        |id: &str| programs.iter().any(|program| program.expectation.findings.iter().any(|finding| finding.rule == id));
    let nearly = |id: &str| programs.iter().any(|program| program.expectation.nearly.iter().any(|near| near == id));
    let mut wrong = String::new();
    for id in Rule::ALL.iter().map(|rule| rule.id()) {
        let elsewhere = ELSEWHERE.iter().any(|(rule, _)| *rule == id);
        for (has, what) in [(fires(id), "fires"), (nearly(id), "nearly fires")] {
            if has == elsewhere {
                wrong.push_str(&format!("{id}: {} program {what} it\n", if has { "excused, but a" } else { "no" }));
            }
        }
    }
    Trial::test("every_rule_has_its_programs", move || if wrong.is_empty() { Ok(()) } else { Err(Failed::from(wrong)) })
}

/// An rdma-core with a folder for what is compiled for it.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
    proof: OnceLock<Outcome>,
}

impl Bench {
    fn new(core: RdmaCore) -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(core.version.to_string());
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Bench { core, folder, proof: OnceLock::new() })
    }

    /// A suite that ran against the wrong libraries would prove nothing, so this is asked first, once.
    fn proof(&self) -> Outcome {
        self.proof.get_or_init(|| self.prove()).clone()
    }

    fn prove(&self) -> Outcome {
        let source = project().join("tests-c/common/maps.c");
        let program = Program { name: "maps".into(), source, expectation: Default::default() };
        let compiled = self.compile(&program)?;
        let folder = self.scratch("maps")?;
        let maps = run::run(&compiled, &folder, &[], &[])?.stdout;
        let mut wanted = vec![built("libverbsguard.so.0")?, built("libverbsguard-emu.so")?];
        for library in ["libibverbs.so.1", "libmlx5.so.1"] {
            let path = self.core.lib().join(library);
            wanted.push(path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?);
        }
        let stem =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().split('.').next().map(str::to_owned);
        for path in &wanted {
            let mapped: Vec<&str> = maps.lines().filter(|line| stem(Path::new(line)) == stem(path)).collect();
            if mapped.is_empty() || mapped.iter().any(|line| Path::new(line) != path) {
                return Err(format!("wrong library under test: {mapped:?} instead of {}\n{maps}", path.display()));
            }
        }
        Ok(())
    }

    fn compile(&self, program: &Program) -> Outcome<PathBuf> {
        let out = self.scratch(&program.name.replace("::", "-"))?.join("program");
        self.core.compile(program, &out)?;
        Ok(out)
    }

    fn scratch(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }
}

/// A program, compiled once for all its trials.
struct Compiled {
    bench: Arc<Bench>,
    program: Program,
    path: OnceLock<Outcome<PathBuf>>,
}

impl Compiled {
    fn new(bench: &Arc<Bench>, program: &Program) -> Compiled {
        Compiled { bench: bench.clone(), program: program.clone(), path: OnceLock::new() }
    }

    fn path(&self) -> Outcome<PathBuf> {
        self.bench.proof()?;
        self.path.get_or_init(|| self.bench.compile(&self.program)).clone()
    }

    /// A fresh folder for one trial.
    fn folder(&self, trial: &str) -> Outcome<PathBuf> {
        let folder = self.bench.scratch(&format!("{}-{trial}", self.program.name.replace("::", "-")))?;
        let clean = std::fs::remove_dir_all(&folder).and_then(|()| std::fs::create_dir(&folder));
        clean.map_err(|error| format!("cannot clean {}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn guarded(&self, cast: &Cast) -> Outcome {
        let mut expectation = self.program.expectation.clone();
        expectation.env.extend(cast.env.iter().cloned());
        let folder = self.folder(&format!("guarded{}", cast.name.replace("::", "-")))?;
        run::guarded(&self.path()?, &folder, &expectation)
    }

    fn parity(&self) -> Outcome {
        run::parity(&self.path()?, &self.folder("parity")?, &self.program.expectation)
    }

    /// jemalloc does not scribble over what is freed, and gives addresses out in another order.
    fn under_jemalloc(&self) -> Outcome {
        let root = output_of(&mut Command::new(project().join("scripts/jemalloc-root")))?;
        let library = format!("{}/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", root.trim());
        let mut expectation = self.program.expectation.clone();
        expectation.env.push(("LD_PRELOAD".into(), library));
        run::guarded(&self.path()?, &self.folder("jemalloc")?, &expectation)
    }
}
