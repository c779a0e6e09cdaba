//! Python wheels that bring rdma-core or open it: NIXL, NCCL and NVSHMEM, as PyPI has them. Their own code is called, as
//! far as it goes without a GPU, on the emulated device: guarded and not, and nothing is to be found.
//!
//! `make foreign` runs these: they need some 700 MB of downloads (`scripts/wheels-root`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use verbsguard_tests::expect::{End, Expectation};
use verbsguard_tests::rdma_core::RdmaCore;
use verbsguard_tests::{Outcome, built, findings, output_of, project, run};

const NCCL: &str = "nvidia/nccl/lib/libnccl.so.2";
const IBRC: &str = "nvidia/nvshmem/lib/nvshmem_transport_ibrc.so.7";
const IBGDA: &str = "nvidia/nvshmem/lib/nvshmem_transport_ibgda.so.7";
const UCT: &str = "nixl_cu12.libs/libuct-1141f529.so.0.0.0";
const UCX_MLX5: &str = "nixl_cu12.libs/ucx/libuct_ib_mlx5.so.0.0.0";

type Test = fn(&Bench) -> Outcome;

const TESTS: &[(&str, Test)] = &[
    ("nccl", nccl),
    ("nvshmem", nvshmem),
    ("ucx", ucx),
    ("ucx_and_nccl_together", together),
    ("doctor_on_nccl", doctor_on_nccl),
    ("doctor_on_nvshmem", doctor_on_nvshmem),
    ("doctor_on_ucx", doctor_on_ucx),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let is_asked_for = std::env::var_os("VERBSGUARD_FOREIGN").is_some();
    let trials = TESTS.iter().map(|(name, test)| {
        let trial = Trial::test(*name, move || Ok(test(Bench::get()?)?));
        if is_asked_for { trial } else { trial.with_kind("skipped: make foreign runs it").with_ignored_flag(true) }
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// The wheels, and the machine's rdma-core beside them: 44, which the machine's own loader loads.
struct Bench {
    core: RdmaCore,
    wheels: PathBuf,
    folder: PathBuf,
}

impl Bench {
    fn get() -> Outcome<&'static Bench> {
        static BENCH: OnceLock<Outcome<Bench>> = OnceLock::new();
        BENCH.get_or_init(Bench::new).as_ref().map_err(Clone::clone)
    }

    fn new() -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheels");
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let wheels = output_of(&mut Command::new(project().join("scripts/wheels-root")))?;
        Ok(Bench { core: RdmaCore::find(44)?, wheels: wheels.trim().into(), folder })
    }

    fn wheel(&self, library: &str) -> PathBuf {
        self.wheels.join(library)
    }

    fn cc(&self, out: &Path) -> Command {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(self.core.include());
        self.core.rpath(cc.arg("-o").arg(out));
        cc
    }

    /// Runs a program of tests-c/wheels with these arguments: nothing is found, the same comes of it unguarded, and at
    /// least these functions were called through the guard.
    fn play(&self, name: &str, arguments: &[String], through_guard: &[&str]) -> Outcome {
        let source = project().join("tests-c/wheels").join(name).with_extension("c");
        let folder = self.folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = folder.join("program");
        output_of(self.cc(&program).arg(&source))?;
        // `verbsguard run` takes a program without arguments here, and looks at what the script starts.
        let script = folder.join("run.sh");
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        let text = format!("#!/bin/sh\nexec '{}' {}\n", program.display(), words.join(" "));
        fs::write(&script, text).map_err(|error| error.to_string())?;
        output_of(Command::new("chmod").arg("+x").arg(&script))?;

        let text = fs::read_to_string(&source).map_err(|error| error.to_string())?;
        let expectation = Expectation::parse(&text)?;
        run::guarded(&script, &folder, &expectation)?;
        reached(&findings::read(&folder.join("log"))?, through_guard)?;
        run::parity(&script, &folder, &expectation)
    }
}

/// The summary counts calls of each of these functions.
fn reached(lines: &[Value], functions: &[&str]) -> Outcome {
    let calls = lines.iter().map(|line| &line["calls"]).find(|calls| calls.is_object()).unwrap_or(&Value::Null);
    match functions.iter().find(|name| calls[**name].as_u64().unwrap_or(0) == 0) {
        Some(name) => Err(format!("{name} was not called through the guard: {calls}")),
        None => Ok(()),
    }
}

/// Functions of C++ that a library does not export, as NAME=OFFSET: those whose names begin so.
fn hidden(library: &Path, prefix: &str) -> Outcome<Vec<String>> {
    let table = output_of(Command::new("readelf").args(["--wide", "--syms"]).arg(library))?;
    let function = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mangled = words.get(7).filter(|name| words[3] == "FUNC" && !name.contains('.'))?.strip_prefix("_Z")?;
        let digits = mangled.bytes().take_while(u8::is_ascii_digit).count();
        let name = mangled[digits..].get(..mangled[..digits].parse().ok()?)?;
        name.starts_with(prefix).then(|| format!("{name}={}", words[1]))
    };
    Ok(table.lines().filter_map(function).collect())
}

fn arguments(library: PathBuf, prefix: &str) -> Outcome<Vec<String>> {
    let mut arguments = vec![library.display().to_string()];
    arguments.extend(hidden(&library, prefix)?);
    Ok(arguments)
}

fn nccl(bench: &Bench) -> Outcome {
    let through =
        ["ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr", "ibv_reg_mr_iova2", "ibv_dereg_mr", "ibv_create_cq"];
    bench.play("nccl", &arguments(bench.wheel(NCCL), "wrap_")?, &through)
}

fn nvshmem(bench: &Bench) -> Outcome {
    let through = ["ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr", "ibv_dereg_mr", "ibv_close_device"];
    bench.play("nvshmem", &arguments(bench.wheel(IBRC), "nvshmemt_")?, &through)
}

fn ucx(bench: &Bench) -> Outcome {
    // Only the copy that made a context gives it UARs.
    let through = ["ibv_alloc_pd", "mlx5dv_open_device", "mlx5dv_devx_alloc_uar", "ibv_close_device"];
    bench.play("ucx", &[bench.wheel(UCT).display().to_string()], &through)
}

fn together(bench: &Bench) -> Outcome {
    let mut all = vec![bench.wheel(UCT).display().to_string()];
    all.extend(arguments(bench.wheel(NCCL), "wrap_")?);
    bench.play("together", &all, &["ibv_alloc_pd", "ibv_reg_mr", "mlx5dv_devx_alloc_uar", "ibv_close_device"])
}

/// What doctor says of a program that is linked with a wheel's library.
fn doctor(bench: &Bench, name: &str, library: &str, fates: &[(&str, &str)]) -> Outcome<Value> {
    let at = |error: std::io::Error| format!("{name}: {error}");
    let folder = bench.folder.join("doctor").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(at)?;
    let wheel = bench.wheel(library);
    // Some lie under a longer name than the one they are asked for by.
    symlink(&wheel, folder.join(soname(&wheel)?)).map_err(at)?;
    let source = folder.join("main.c");
    fs::write(&source, "int main(void) { return 0; }\n").map_err(at)?;
    let program = folder.join("program");
    output_of(bench.cc(&program).arg(&source).arg("-Wl,--no-as-needed").arg(&wheel))?;

    let brought = bench.wheel("nixl_cu12.libs");
    let path = [folder, wheel.parent().unwrap_or(Path::new(".")).into(), brought, bench.core.lib()];
    let path = std::env::join_paths(path).map_err(|error| error.to_string())?;
    let mut doctor = Command::new(built("verbsguard")?);
    doctor.args(["doctor", "--json", "--"]).arg(&program).env("LD_LIBRARY_PATH", path);
    let output = doctor.output().map_err(at)?;
    let said: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let entries = said["entry_points"].as_array().cloned().unwrap_or_default();
    for (function, fate) in fates {
        let found =
            entries.iter().find(|entry| entry["name"] == *function).map_or(&Value::Null, |e| &e["interception"]);
        if found != fate {
            return Err(format!("{function} is {found}, not {fate}: {:#}", said["program"]));
        }
    }
    let end = End::Status(output.status.code().unwrap_or(-1));
    if end == End::Status(0) { Ok(said) } else { Err(format!("ended with {end:?}: {:#}", said["program"])) }
}

fn soname(library: &Path) -> Outcome<String> {
    let dynamic = output_of(Command::new("readelf").args(["--wide", "--dynamic"]).arg(library))?;
    let line = dynamic.lines().find(|line| line.contains("(SONAME)")).unwrap_or_default();
    let name = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
    name.map(|(name, _)| name.to_owned()).ok_or_else(|| format!("{} has no name", library.display()))
}

fn doctor_on_nccl(bench: &Bench) -> Outcome {
    let fates = ["ibv_alloc_pd", "ibv_reg_mr_iova2", "ibv_reg_dmabuf_mr"].map(|name| (name, "audit"));
    doctor(bench, "nccl", NCCL, &fates).map(drop)
}

fn doctor_on_nvshmem(bench: &Bench) -> Outcome {
    let fates = [("ibv_alloc_pd", "audit"), ("mlx5dv_devx_umem_reg", "linked"), ("mlx5dv_devx_umem_dereg", "linked")];
    doctor(bench, "nvshmem", IBGDA, &fates).map(drop)
}

/// The calls of what is linked with the wheel's own copies come to the guard.
fn doctor_on_ucx(bench: &Bench) -> Outcome {
    let fates = [("ibv_reg_mr_iova2", "linked"), ("mlx5dv_devx_umem_reg", "linked"), ("mlx5dv_open_device", "linked")];
    let said = doctor(bench, "ucx", UCX_MLX5, &fates)?;
    let libraries = said["libraries"].to_string();
    for copy in ["libibverbs-1de1263b.so.1.14.48.0", "libmlx5-79ef1d27.so.1.24.48.0"] {
        if !libraries.contains(copy) {
            return Err(format!("{copy} is not named: {libraries}"));
        }
    }
    Ok(())
}
