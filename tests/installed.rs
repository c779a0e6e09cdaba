//! What `meson install` puts under a prefix, and programs that are linked with it by pkg-config.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::expect::End;
use verbsguard_tests::rdma_core::RdmaCore;
use verbsguard_tests::{Outcome, built, findings, output_of, project, run};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match Installed::new() {
        Ok(installed) => libtest_mimic::run(&arguments, trials(&Arc::new(installed))).exit_code(),
        Err(error) => {
            eprintln!("installed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials(installed: &Arc<Installed>) -> Vec<Trial> {
    let trial = |name: &str, test: fn(&Installed) -> Outcome| {
        let installed = installed.clone();
        Trial::test(name, move || Ok(test(&installed)?))
    };
    let setuid = trial("setuid_programs_ignore_options", setuid_ignores_options);
    let is_root = output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    vec![
        trial("every_file_is_there", every_file_is_there),
        trial("the_installed_command_finds_its_libraries", command_finds_libraries),
        trial("the_guard_comes_first_and_calls_are_recorded_against_rdma_core", recorded_against_rdma_core),
        trial("runs_with_the_guard", runs_with_the_guard),
        trial("runs_with_the_stub", runs_with_the_stub),
        trial("runs_without_either", runs_without_either),
        trial("default_options_are_seen", default_options_are_seen),
        trial("the_control_api_answers", control_api_answers),
        trial("leaks_on_demand", leaks_on_demand),
        if is_root { setuid } else { setuid.with_kind("skipped: needs root").with_ignored_flag(true) },
    ]
}

/// An installation under a folder of the tests' own.
struct Installed {
    core: RdmaCore,
    folder: PathBuf,
    prefix: PathBuf,
    lib: PathBuf,
}

impl Installed {
    fn new() -> Outcome<Installed> {
        built("libverbsguard.so.0")?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let mut meson = Command::new("meson");
        meson.args(["install", "--quiet", "--no-rebuild", "-C"]).arg(project().join("build"));
        output_of(meson.arg("--destdir").arg(&folder))?;
        let prefix = folder.join("usr/local");
        let lib = prefix.join("lib/x86_64-linux-gnu");
        Ok(Installed { core: RdmaCore::find(65)?, folder, prefix, lib })
    }

    /// What pkg-config says of the installed guard; rdma-core's own files stand beside, without what only static
    /// linking needs.
    fn flags(&self) -> Outcome<Vec<String>> {
        let beside = self.folder.join("pkgconfig");
        let _ = fs::create_dir(&beside);
        for name in ["libmlx5.pc", "libibverbs.pc"] {
            let text =
                fs::read_to_string(self.core.lib().join("pkgconfig").join(name)).map_err(|error| error.to_string())?;
            let kept: Vec<&str> = text.lines().filter(|line| !line.contains(".private")).collect();
            fs::write(beside.join(name), kept.join("\n") + "\n").map_err(|error| error.to_string())?;
        }
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_LIBDIR", format!("{}:{}", self.lib.join("pkgconfig").display(), beside.display()));
        command.arg(format!("--define-variable=prefix={}", self.prefix.display()));
        let flags = output_of(command.args(["--cflags", "--libs", "verbsguard"]))?;
        Ok(flags.split_whitespace().map(str::to_owned).collect())
    }

    /// Compiles a program of tests-c/link as a user would, in a folder of its own; `guard` is where it looks for the
    /// guard.
    fn compile(&self, name: &str, guard: &Path) -> Outcome<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = self.folder.join(format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let out = folder.join(name);
        let source = project().join("tests-c/link").join(name).with_extension("c");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-I"]).arg(self.core.include());
        cc.arg("-o").arg(&out).arg(source).arg(format!("-L{}", self.core.lib().display())).args(self.flags()?);
        cc.arg(format!("-Wl,-rpath,{}", guard.display()));
        self.core.rpath(&mut cc);
        output_of(&mut cc)?;
        Ok(out)
    }

    /// Runs it on the emulated device with nothing preloaded but that, and gives the findings' rules.
    fn run(&self, program: &Path) -> Outcome<Vec<String>> {
        let folder = program.parent().unwrap_or(Path::new("."));
        let log = folder.join("log");
        let options = format!("format=json:exitcode=0:log={}", log.display());
        let done = run::run(program, folder, &["--no-guard"], &[("VERBSGUARD_OPTIONS".into(), options)])?;
        // A program that prints nothing did not run.
        if done.end != End::Status(0) || done.stdout.is_empty() {
            return Err(format!("ended with {:?}\n{}{}", done.end, done.stdout, done.stderr));
        }
        let told = |line: &serde_json::Value| line["kind"] == "finding" && line["severity"] != "note";
        let lines = findings::read(&log)?;
        Ok(lines.iter().filter(|line| told(line)).map(|line| line["rule"].as_str().unwrap_or("?").into()).collect())
    }
}

fn expect_rules(found: Vec<String>, expected: &[&str]) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("found {found:?}, expected {expected:?}")) }
}

fn every_file_is_there(installed: &Installed) -> Outcome {
    let lib = |name: &str| installed.lib.join(name);
    let expected = [
        installed.prefix.join("bin/verbsguard"),
        installed.prefix.join("include/verbsguard.h"),
        lib("libverbsguard.so.0"),
        lib("libverbsguard.so"),
        lib("libverbsguard-audit.so"),
        lib("libverbsguard-emu.so"),
        lib("pkgconfig/verbsguard.pc"),
    ];
    let missing: Vec<_> = expected.iter().filter(|path| !path.exists()).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("not installed: {missing:?}")) }
}

fn command_finds_libraries(installed: &Installed) -> Outcome {
    let program = installed.compile("plain", &installed.lib)?;
    let mut command = Command::new(installed.prefix.join("bin/verbsguard"));
    let output = command.args(["run", "--emulate", "--"]).arg(program).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && said.contains("unimport-of-owned") {
        return Ok(());
    }
    Err(format!("{}\n{said}", output.status))
}

fn recorded_against_rdma_core(installed: &Installed) -> Outcome {
    let program = installed.compile("plain", &installed.lib)?;
    let dynamic = output_of(Command::new("readelf").args(["--wide", "--dynamic"]).arg(&program))?;
    let needed: Vec<&str> = dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect();
    if !needed.first().is_some_and(|line| line.contains("[libverbsguard.so.0]")) {
        return Err(format!("the guard is not the first library that is needed:\n{dynamic}"));
    }
    let versions = output_of(Command::new("readelf").args(["--wide", "--version-info"]).arg(&program))?;
    let mut of: BTreeMap<&str, String> = BTreeMap::new();
    let mut file = "";
    for line in versions.lines() {
        if let Some((_, rest)) = line.split_once("File: ") {
            file = rest.split_whitespace().next().unwrap_or_default();
        } else if let Some((_, rest)) = line.split_once("Name: ") {
            of.entry(file).or_default().push_str(&format!("{} ", rest.split_whitespace().next().unwrap_or_default()));
        }
    }
    let verbs = of.get("libibverbs.so.1").map(String::as_str).unwrap_or_default();
    if of.contains_key("libverbsguard.so.0") || !verbs.contains("IBVERBS_1.10") {
        return Err(format!("symbols are recorded against the wrong library: {of:?}"));
    }
    Ok(())
}

fn runs_with_the_guard(installed: &Installed) -> Outcome {
    let program = installed.compile("plain", &installed.lib)?;
    expect_rules(installed.run(&program)?, &["unimport-of-owned"])
}

fn runs_with_the_stub(installed: &Installed) -> Outcome {
    let stub = installed.folder.join("stub");
    fs::create_dir_all(&stub).map_err(|error| error.to_string())?;
    fs::copy(installed.lib.join("libverbsguard.so"), stub.join("libverbsguard.so.0"))
        .map_err(|error| error.to_string())?;
    let program = installed.compile("plain", &stub)?;
    expect_rules(installed.run(&program)?, &[])
}

fn runs_without_either(installed: &Installed) -> Outcome {
    let nowhere = installed.folder.join("nowhere");
    let program = installed.compile("plain", &nowhere)?;
    remove_needed(&program, "libverbsguard.so.0")?;
    expect_rules(installed.run(&program)?, &[])
}

/// Takes a library out of a program's NEEDED list, by making the entry one that the loader skips.
fn remove_needed(program: &Path, library: &str) -> Outcome {
    const DT_NEEDED: u64 = 1;
    const DT_DEBUG: u64 = 21;
    let sections = output_of(Command::new("readelf").args(["--wide", "--sections"]).arg(program))?;
    let section = |name: &str| {
        let line = sections.lines().find(|line| line.contains(&format!(" {name} ")))?;
        let mut words = line.split_whitespace().skip_while(|word| *word != name).skip(3);
        let mut number = || usize::from_str_radix(words.next()?, 16).ok();
        Some((number()?, number()?))
    };
    let (dynamic, size) = section(".dynamic").ok_or("no section .dynamic")?;
    let (strings, _) = section(".dynstr").ok_or("no section .dynstr")?;
    let mut bytes = fs::read(program).map_err(|error| error.to_string())?;
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    for at in (dynamic..dynamic + size).step_by(16) {
        let name = strings + word(&bytes, at + 8) as usize;
        if word(&bytes, at) == DT_NEEDED && bytes[name..].starts_with(library.as_bytes()) {
            bytes[at..at + 8].copy_from_slice(&DT_DEBUG.to_le_bytes());
            return fs::write(program, bytes).map_err(|error| error.to_string());
        }
    }
    Err(format!("{library} is not needed"))
}

fn default_options_are_seen(installed: &Installed) -> Outcome {
    let program = installed.compile("default_options", &installed.lib)?;
    expect_rules(installed.run(&program)?, &["import-of-own"])
}

fn control_api_answers(installed: &Installed) -> Outcome {
    let program = installed.compile("api", &installed.lib)?;
    expect_rules(installed.run(&program)?, &["pd-destroyed-elsewhere"])
}

fn leaks_on_demand(installed: &Installed) -> Outcome {
    let program = installed.compile("check_leaks", &installed.lib)?;
    let expected = ["unimport-of-owned", "object-orphaned", "unimport-of-owned", "object-orphaned"];
    expect_rules(installed.run(&program)?, &expected)
}

/// A setuid program's environment is its caller's, who may be anybody.
fn setuid_ignores_options(installed: &Installed) -> Outcome {
    // A folder that another user can reach; the project's own may be closed to others.
    let folder = std::env::temp_dir().join(format!("verbsguard-setuid-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let result = setuid_in(installed, &folder);
    let _ = fs::remove_dir_all(&folder);
    result
}

fn setuid_in(installed: &Installed, folder: &Path) -> Outcome {
    let at = |error: std::io::Error| error.to_string();
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(at);
    mode(folder, 0o777)?;
    // An rdma-core for the machine's own loader.
    let core = RdmaCore::find(44)?;
    fs::copy(installed.lib.join("libverbsguard.so.0"), folder.join("libverbsguard.so.0")).map_err(at)?;
    for library in ["libibverbs.so.1", "libmlx5.so.1", "libnl-3.so.200", "libnl-route-3.so.200"] {
        fs::copy(core.lib().join(library), folder.join(library)).map_err(at)?;
        mode(&folder.join(library), 0o755)?;
    }
    mode(&folder.join("libverbsguard.so.0"), 0o755)?;
    let program = folder.join("no_device");
    let mut cc = Command::new("cc");
    cc.arg("-I").arg(core.include()).arg("-o").arg(&program).arg(project().join("tests-c/link/no_device.c"));
    cc.arg(format!("-L{}", core.lib().display())).args(installed.flags()?);
    cc.arg("-Wl,--disable-new-dtags").arg(format!("-Wl,-rpath,{}", folder.display()));
    output_of(&mut cc)?;
    mode(&program, 0o755)?;
    let plain = run_as_nobody(&program, folder)?;
    if !plain.contains("secure 0") || !folder.join("log").exists() {
        return Err(format!("options do not reach a plain program, so this test shows nothing:\n{plain}"));
    }
    fs::remove_file(folder.join("log")).map_err(at)?;
    mode(&program, 0o4755)?;
    let setuid = run_as_nobody(&program, folder)?;
    if !setuid.contains("secure 1") {
        return Err(format!("{} takes no setuid programs: set TMPDIR to a folder that does", folder.display()));
    }
    if folder.join("log").exists() || !setuid.contains("null-argument") {
        return Err(format!("a setuid program follows its caller's options:\n{setuid}"));
    }
    Ok(())
}

/// What it says, on both outputs.
fn run_as_nobody(program: &Path, folder: &Path) -> Outcome<String> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command.env("VERBSGUARD_OPTIONS", format!("log={}", folder.join("log").display()));
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    Ok([output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat())
}
