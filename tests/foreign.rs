//! RDMA programs that others wrote, guarded on the emulated device: rdma-core's own Python tests, its tools, perftest, the
//! libfabric's, DPDK's mlx5 library. What they say must be the same without the guard, and the guard must be
//! silent. It takes 150 MB of Debian packages, so `make foreign` runs it, not `make check`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::{env, fs};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use verbsguard_tests::{Outcome, built, findings, output_of, project};

/// Set by `make foreign`.
const ASKED: &str = "VERBSGUARD_FOREIGN";

/// For one program, in seconds, on a busy machine.
const PATIENCE: &str = "400";

/// timeout(1): it had to end the program.
const TIMED_OUT: i32 = 124;

/// What rdma-core's tests say where the emulated device ends, and why it does.
const BEYOND_THE_DEVICE: &[(&str, &str)] = &[
    ("Got timeout", "needs a wire"),
    ("Failed to poll CQ.", "needs a wire"),
    ("did not end", "needs a wire"),
    ("Completion status is Remote access error", "needs a wire"),
    ("test_full_rq_bad_flow", "needs a wire"),
    ("Failed to resize CQ. Errno: 38", "the emulated device resizes no CQ"),
    (
        "cannot pickle 'TextIOWrapper'",
        "fails by itself: Python 3.14 starts processes another way than the test was written for",
    ),
    ("/sys/class/infiniband/mlx5_0", "reads the real /sys itself"),
];

/// Programs with arguments, and what their output must show, so that a program that did nothing does not count.
const PROGRAMS: &[(&str, &[&str], &str)] = &[
    ("ibv_devinfo", &["-v"], "PORT_ACTIVE"),
    ("ib_write_bw", &["-p", "18611", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("ib_read_lat", &["-p", "18612", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("ib_send_bw", &["-p", "18613", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("ibv_rc_pingpong", &["-p", "18614", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("ibv_srq_pingpong", &["-p", "18615", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("ibv_ud_pingpong", &["-p", "18616", "-d", "mlx5_0", "-n", "5", "@LOOPBACK"], "remote address:"),
    ("fi_info", &["-p", "verbs"], "domain: mlx5_0"),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("foreign: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    if env::var_os(ASKED).is_none() {
        let names = PROGRAMS.iter().map(|(name, ..)| *name).chain(["rdma_core_tests", "dpdk"]);
        return Ok(names.map(|name| skipped(name.into(), "`make foreign` runs it")).collect());
    }
    let bench = Arc::new(Bench::new()?);
    let mut trials = python_tests(&bench)?;
    for (name, arguments, shows) in PROGRAMS {
        let bench = bench.clone();
        trials.push(Trial::test(*name, move || Ok(same_and_silent(&bench, name, arguments, shows)?)));
    }
    trials.push(Trial::test("dpdk", move || Ok(dpdk(&bench)?)));
    Ok(trials)
}

fn skipped(name: String, why: &str) -> Trial {
    Trial::test(name, || Ok(())).with_kind(format!("skipped: {why}")).with_ignored_flag(true)
}

/// The unpacked programs, and a folder to run them in.
struct Bench {
    root: PathBuf,
    folder: PathBuf,
}

/// What a run left behind.
struct Done {
    status: Option<i32>,
    output: String,
    log: PathBuf,
}

impl Bench {
    fn new() -> Outcome<Bench> {
        let root = output_of(&mut Command::new(project().join("scripts/foreign-root")))?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Bench { root: root.trim().into(), folder })
    }

    /// A program of theirs, by its own loader.
    fn program(&self, name: &str) -> Vec<PathBuf> {
        let program = self.root.join("usr/bin").join(name);
        vec![self.root.join("lib64/ld-linux-x86-64.so.2"), "--library-path".into(), self.libraries(), program]
    }

    fn libraries(&self) -> PathBuf {
        let lib = self.root.join("usr/lib/x86_64-linux-gnu");
        format!("{0}:{0}/libfabric:{0}/dpdk/pmds-26.0", lib.display()).into()
    }

    /// Runs a command on the emulated device.
    fn run(&self, name: &str, is_guarded: bool, words: &[PathBuf]) -> Outcome<Done> {
        let log = self.folder.join(format!("{name}.json"));
        let mut command = Command::new("timeout");
        command.args(["-k", "5", PATIENCE]).arg(built("verbsguard")?).args(["run", "--emulate"]);
        match is_guarded {
            true => command.arg("--json").arg(&log),
            false => command.arg("--no-guard"),
        };
        command.arg("--").args(words).env_remove("LD_PRELOAD").env_remove("VERBSGUARD_OPTIONS");
        command.env("ROOT", &self.root).current_dir(&self.folder).stdin(Stdio::null());
        let done = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
        let text = [done.stdout, done.stderr].concat();
        Ok(Done { status: done.status.code(), output: String::from_utf8_lossy(&text).into_owned(), log })
    }
}

/// True findings in programs that others wrote, each once (docs/findings.md): function and rule.
const TRUE_ONES: &[(&str, &str)] = &[("ibv_unimport_pd", "pd-unimport-busy")];

/// In rdma-core's tests the guard found what is known to be true, and nothing else.
fn only_true_ones(log: &Path) -> Outcome {
    let lines = findings::read(log)?;
    let loud = lines.iter().filter(|line| line["kind"] == "finding" && line["severity"] != "note");
    let found: Vec<_> = loud.map(|line| (&line["function"], &line["rule"])).collect();
    let known: Vec<_> = TRUE_ONES.iter().map(|(function, rule)| (json!(function), json!(rule))).collect();
    if found.iter().copied().eq(known.iter().map(|(function, rule)| (function, rule))) {
        return Ok(());
    }
    Err(format!("found {found:?} instead of {known:?}"))
}

/// The guard found nothing: no error, no warning. It was there, as its summary shows; a program that `is_killed` leaves
/// none.
fn silent(log: &Path, is_killed: bool) -> Outcome {
    let lines = findings::read(log)?;
    if !is_killed && !lines.iter().any(|line| line["kind"] == "summary") {
        return Err("the guard was not there: no summary".into());
    }
    let loud = lines.iter().filter(|line| line["kind"] == "finding" && line["severity"] != "note");
    let loud: Vec<String> = loud.map(|line| format!("{line}\n")).collect();
    if loud.is_empty() { Ok(()) } else { Err(format!("findings:\n{}", loud.concat())) }
}

fn same_and_silent(bench: &Bench, name: &str, arguments: &[&str], shows: &str) -> Outcome {
    let words = match arguments.split_last() {
        Some((&"@LOOPBACK", rest)) => loopback(bench, name, rest),
        _ => bench.program(name).into_iter().chain(arguments.iter().map(PathBuf::from)).collect(),
    };
    let plain = bench.run(name, false, &words)?;
    let guarded = bench.run(name, true, &words)?;
    if plain.status != guarded.status || unnumbered(&plain.output) != unnumbered(&guarded.output) {
        return Err(format!(
            "unguarded ({:?}):\n{}\nguarded ({:?}):\n{}",
            plain.status, plain.output, guarded.status, guarded.output
        ));
    }
    let words = guarded.output.split_whitespace().collect::<Vec<_>>().join(" ");
    if !words.contains(shows) {
        return Err(format!("does not show '{shows}':\n{}", guarded.output));
    }
    silent(&guarded.log, guarded.status == Some(TIMED_OUT))
}

/// A server and its client on this machine, for some seconds: without a wire they end only by a signal. Their lines come at
/// once, so that they are not lost then.
fn loopback(bench: &Bench, name: &str, arguments: &[&str]) -> Vec<PathBuf> {
    let program: Vec<String> = bench.program(name).iter().map(|word| word.display().to_string()).collect();
    let program = format!("{} {}", program.join(" "), arguments.join(" "));
    let server = format!("stdbuf -oL timeout 8 {program} & server=$!; sleep 2");
    let client = format!("stdbuf -oL timeout 3 {program} localhost >/dev/null 2>&1");
    let script = format!("{server}; {client}; wait $server");
    vec!["sh".into(), "-c".into(), script.into()]
}

/// Without what differs from run to run: numbers (keys, addresses, ports, times).
fn unnumbered(text: &str) -> String {
    let mut plain = String::new();
    for word in text.split_inclusive(|c: char| c.is_whitespace() || c == ',') {
        plain.push_str(if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word });
    }
    plain
}

/// Their package of tests, unpacked as Python wants it; Debian compresses documents.
fn unpack_tests(bench: &Bench) -> Outcome<PathBuf> {
    let script = "cp -r \"$1/usr/share/doc/rdma-core/tests\" . && gunzip -rf tests && mkdir -p bin &&
        printf '#!/bin/sh\\necho \"[]\"\\n' >bin/rdma && chmod +x bin/rdma";
    let mut command = Command::new("sh");
    output_of(command.args(["-ec", script, "sh"]).arg(&bench.root).current_dir(&bench.folder))?;
    Ok(bench.folder.clone())
}

/// Every test of rdma-core's own, unguarded and guarded: a trial each.
fn python_tests(bench: &Bench) -> Outcome<Vec<Trial>> {
    let folder = unpack_tests(bench)?;
    let runner = project().join("tests/foreign/rdma_core_tests.py");
    // Their `rdma` asks a kernel that knows no emulated device; ours says that there is no link.
    let script = "PYTHONHOME=$ROOT/usr PYTHONDONTWRITEBYTECODE=1 PATH=$PWD/bin:$PATH exec \"$@\"";
    let mut words: Vec<PathBuf> = ["sh", "-c", script, "sh"].map(PathBuf::from).into();
    words.extend(bench.program("python3"));
    words.extend([runner, folder]);
    let plain = bench.run("rdma_core_tests", false, &words)?;
    let guarded = bench.run("rdma_core_tests", true, &words)?;
    let (before, after) = (outcomes(&plain.output), outcomes(&guarded.output));
    if before.len() < 100 {
        return Err(format!("rdma-core's tests did not run:\n{}", plain.output));
    }
    let log = guarded.log;
    let mut trials = vec![Trial::test("rdma_core_tests::findings", move || Ok(only_true_ones(&log)?))];
    for (id, outcome) in before {
        let other = after.get(&id).cloned().unwrap_or_else(|| "did not run".into());
        trials.push(python_test(&id, &outcome, &other));
    }
    Ok(trials)
}

/// `test ID: OUTCOME` lines.
fn outcomes(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(": "));
    lines.map(|(id, outcome)| (id.to_owned(), outcome.to_owned())).collect()
}

fn python_test(id: &str, plain: &str, guarded: &str) -> Trial {
    let name = format!("rdma_core_{id}");
    if plain != guarded {
        let why = format!("unguarded: {plain}\nguarded:   {guarded}");
        return Trial::test(name, move || Err(Failed::from(why)));
    }
    let beyond = BEYOND_THE_DEVICE.iter().find(|(said, _)| plain.contains(said) || id.ends_with(said));
    match (plain, plain.strip_prefix("skipped: "), beyond) {
        ("ok", ..) => Trial::test(name, || Ok(())),
        (_, Some(why), _) => skipped(name, why),
        (_, None, Some((_, why))) => skipped(name, why),
        _ => {
            let why = plain.to_owned();
            Trial::test(name, move || Err(Failed::from(why)))
        }
    }
}

/// DPDK's mlx5 library, loaded as its drivers load it: its verbs calls bind to the guard.
fn dpdk(bench: &Bench) -> Outcome {
    let library = "librte_common_mlx5.so.26";
    let script = format!("import ctypes; ctypes.CDLL('{library}', mode=2)");
    let shell = "PYTHONHOME=$ROOT/usr LD_BIND_NOW=1 LD_DEBUG=bindings exec \"$@\"";
    let mut words: Vec<PathBuf> = ["sh", "-c", shell, "sh"].map(PathBuf::from).into();
    words.extend(bench.program("python3"));
    words.extend(["-c".into(), script.into()]);
    let done = bench.run("dpdk", true, &words)?;
    for symbol in ["ibv_import_device", "ibv_import_pd", "ibv_unimport_pd", "ibv_alloc_pd", "mlx5dv_devx_umem_reg"] {
        let is_it = |line: &str| {
            line.contains(library) && line.contains("libverbsguard.so.0") && line.contains(&format!("`{symbol}'"))
        };
        if !done.output.lines().any(is_it) {
            return Err(format!("{symbol} of {library} is not bound to the guard"));
        }
    }
    Ok(())
}
