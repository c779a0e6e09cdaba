//! The auditor: the programs of tests-c/audit, which reach verbs by dlopen and dlsym, on every rdma-core.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::expect::{End, Expectation};
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, built, findings, output_of, project};

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
    let programs = programs()?;
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

/// A program of tests-c/audit.
#[derive(Clone)]
struct Program {
    name: String,
    source: PathBuf,
    expectation: Expectation,
    /// `links: NAME…`: is linked with these libraries.
    links: Vec<String>,
    /// `unaudited: passes`: needs no auditor.
    unaudited: bool,
}

fn programs() -> Outcome<Vec<Program>> {
    let folder = project().join("tests-c/audit");
    let mut programs = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))? {
        let source = entry.map_err(|error| error.to_string())?.path();
        let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        if !text.contains("\n * expect: ") {
            continue;
        }
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let expectation = Expectation::parse(&text).map_err(|error| format!("{name}: {error}"))?;
        let links = text.lines().find_map(|line| line.strip_prefix(" * links: ")).unwrap_or_default();
        let links = links.split_whitespace().map(|name| format!("-l{name}")).collect();
        let unaudited = text.contains("\n * unaudited: passes\n");
        programs.push(Program { name, source, expectation, links, unaudited });
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    if programs.is_empty() { Err("no programs in tests-c/audit".into()) } else { Ok(programs) }
}

/// How a program ended, and what it printed.
struct Done {
    end: End,
    stdout: String,
    stderr: String,
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
        bench.bundle("libibverbs.so.1", "libibverbs-1.so")?;
        bench.bundle("libmlx5.so.1", "libmlx5-1.so")?;
        for binding in ["lazy", "now"] {
            let mut cc = bench.cc(&project().join("tests-c/audit/plugin.c"), &format!("plugin-{binding}.so"));
            cc.args(["-shared", "-fPIC", "-fplt", "-libverbs"]).arg(format!("-Wl,-z,{binding}"));
            output_of(&mut cc)?;
        }
        Ok(bench)
    }

    /// What auditwheel and its like do: a copy under another name, to which its sisters refer.
    fn bundle(&self, library: &str, copy: &str) -> Outcome {
        let path = self.core.lib().join(library);
        let mut bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        replace(&mut bytes, b"libibverbs.so.1\0", b"libibverbs-1.so\0");
        replace(&mut bytes, b"libmlx5.so.1\0", b"libmlx5-1.so\0");
        fs::write(self.folder.join(copy), bytes).map_err(|error| format!("{copy}: {error}"))
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

    fn compile(&self, program: &Program) -> Outcome {
        let mut cc = self.cc(&program.source, &program.name);
        cc.args(&program.links);
        output_of(&mut cc).map(drop)
    }

    fn run(&self, program: &str, audited: bool, input: &str, log: &Path) -> Outcome<Done> {
        let mut command = Command::new(self.folder.join(program));
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("LD_PRELOAD", built("libverbsguard.so.0")?);
        command.env("VERBSGUARD_OPTIONS", format!("format=json:exitcode=23:log={}", log.display()));
        if audited {
            command.env("LD_AUDIT", built("libverbsguard-audit.so")?);
        }
        let mut child = command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        written.map_err(|error| format!("{program} did not read its input: {error}"))?;
        let end = output.status.code().map_or(End::Signal(0), End::Status);
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Done { end, stdout, stderr })
    }

    /// With the auditor the program finds what it expects; without, it says that it does not find the guard.
    fn test(&self, program: &Program) -> Outcome {
        self.compile(program)?;
        let log = self.folder.join(format!("{}.log", program.name));
        let _ = fs::remove_file(&log);
        let done = self.run(&program.name, true, "", &log)?;
        let told = findings::compare(&findings::read(&log)?, &program.expectation);
        if done.end != program.expectation.end() || told.is_err() {
            let told = told.err().unwrap_or_default();
            return Err(format!("ended with {:?}\n{told}{}{}", done.end, done.stdout, done.stderr));
        }
        let without = self.run(&program.name, false, "", &self.folder.join("unaudited.log"))?;
        let expected = if program.unaudited { program.expectation.end() } else { End::Status(BROKEN) };
        if without.end != expected {
            return Err(format!("without the auditor it ended with {:?}: {}", without.end, without.stderr));
        }
        Ok(())
    }
}

/// Puts `new` everywhere in the place of `old`, which is as long.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
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
    let source = project().join("tests-c/audit/ask.c");
    output_of(&mut bench.cc(&source, "ask"))?;
    let done = bench.run("ask", true, &questions, &bench.folder.join("ask.log"))?;
    let found: Vec<&str> = done.stdout.lines().collect();
    let guarded = found.iter().filter(|line| line.ends_with(" guard")).count();
    let wrong: Vec<_> = found.iter().zip(&expected).filter(|(found, expected)| *found != expected).collect();
    if found.len() != expected.len() || !wrong.is_empty() || guarded < 18 {
        let counts = format!("{} of {} answers, {guarded} the guard's", found.len(), expected.len());
        return Err(format!("{counts}; found and expected: {wrong:?}\n{}", done.stderr));
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
