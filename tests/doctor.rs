//! `verbsguard doctor` on programs of every kind; of each it is known here what will be intercepted.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use verbsguard_tests::rdma_core::{RdmaCore, replace};
use verbsguard_tests::{Outcome, built, output_of, project};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match Bench::new() {
        Ok(bench) => libtest_mimic::run(&arguments, trials(&Arc::new(bench))).exit_code(),
        Err(error) => {
            eprintln!("doctor: {error}");
            ExitCode::FAILURE
        }
    }
}

type Test = fn(&Bench) -> Outcome;

const TESTS: &[(&str, Test)] = &[
    ("a_linked_program", linked),
    ("a_program_that_looks_names_up", looks_up),
    ("a_program_that_does_both", both),
    ("a_static_program", static_program),
    ("copies_that_a_wheel_brings", bundled),
    ("a_script", script),
    ("a_shell_script", shell_script),
    ("a_caller_of_the_old_functions", old_caller),
    ("a_copy_that_is_linked_in", own_copy),
    ("a_program_that_opens_what_it_is_told", opener),
    ("a_library_that_is_gone", library_gone),
    ("a_loader_that_is_not_glibcs", other_loader),
    ("a_glibc_that_is_too_old", old_glibc),
    ("a_program_for_another_machine", foreign),
    ("what_is_no_program", no_program),
    ("no_command", no_command),
    ("text_for_people", text),
];

fn trials(bench: &Arc<Bench>) -> Vec<Trial> {
    let trial = |name: &str, test: Test| {
        let bench = bench.clone();
        Trial::test(name, move || Ok(test(&bench)?))
    };
    let setuid = trial("a_setuid_program", setuid);
    let is_root = output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let mut trials: Vec<_> = TESTS.iter().map(|(name, test)| trial(name, *test)).collect();
    trials.push(if is_root { setuid } else { setuid.with_kind("skipped: needs root").with_ignored_flag(true) });
    trials
}

/// rdma-core 44, which the machine's own loader loads, and a folder for programs.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Bench { core: RdmaCore::find(44)?, folder })
    }

    /// Compiles a program of tests-c/audit.
    fn compile(&self, source: &str, out: &str, more: &[&str]) -> Outcome<PathBuf> {
        let path = self.folder.join(out);
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(self.core.include());
        cc.arg("-o").arg(&path).arg(project().join("tests-c/audit").join(source));
        cc.arg(format!("-L{}", self.core.lib().display())).args(more);
        self.core.rpath(&mut cc);
        output_of(&mut cc).map(|_| path)
    }

    /// A copy of a file, as it is or with some bytes changed.
    fn copy(&self, from: &Path, to: &str, change: impl FnOnce(&mut Vec<u8>)) -> Outcome<PathBuf> {
        let path = self.folder.join(to);
        let at = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut bytes = fs::read(from).map_err(at)?;
        change(&mut bytes);
        fs::write(&path, bytes).map_err(at)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at)?;
        Ok(path)
    }

    fn text_file(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        self.copy(Path::new("/dev/null"), name, |bytes| bytes.extend(text.as_bytes()))
    }
}

/// What doctor said of a program.
struct Said {
    status: Option<i32>,
    json: Value,
    stderr: String,
}

fn doctor(command: &[&Path], options: &str) -> Outcome<Said> {
    let mut doctor = Command::new(built("verbsguard")?);
    doctor.args(["doctor", "--json"]).env("VERBSGUARD_OPTIONS", options).env_remove("LD_PRELOAD");
    if !command.is_empty() {
        doctor.arg("--").args(command);
    }
    let output = doctor.output().map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = match output.stdout.as_slice() {
        [] => Value::Null,
        text => serde_json::from_slice(text).map_err(|error| format!("not JSON ({error}): {stderr}"))?,
    };
    Ok(Said { status: output.status.code(), json, stderr })
}

impl Said {
    /// Exit status, and what is said of some entry points.
    fn must(&self, status: i32, fates: &[(&str, &str)]) -> Outcome {
        for (name, fate) in fates {
            let found = self.of(name)["interception"].as_str().unwrap_or("?");
            if found != *fate {
                return Err(format!("{name} is '{found}', not '{fate}': {:#}", self.of(name)));
            }
        }
        if self.status == Some(status) {
            return Ok(());
        }
        let entries = self.json["entry_points"].as_array().into_iter().flatten();
        let used: Vec<_> = entries.filter(|entry| entry["interception"] != "unused").collect();
        Err(format!("exit status {:?}, not {status}: {used:?}, {:#}{}", self.status, self.json["program"], self.stderr))
    }

    fn of(&self, name: &str) -> &Value {
        let entries = self.json["entry_points"].as_array();
        entries.and_then(|all| all.iter().find(|entry| entry["name"] == name)).unwrap_or(&Value::Null)
    }

    fn must_say(&self, pointer: &str, words: &str) -> Outcome {
        let found = self.json.pointer(pointer).map(Value::to_string).unwrap_or_default();
        if found.contains(words) { Ok(()) } else { Err(format!("{pointer} does not say '{words}': {found}")) }
    }
}

fn linked(bench: &Bench) -> Outcome {
    let program = bench.compile("linked.c", "linked", &["-lmlx5", "-libverbs"])?;
    let said = doctor(&[&program], "")?;
    said.must(0, &[("ibv_unimport_pd", "linked"), ("mlx5dv_devx_umem_dereg", "linked"), ("ibv_reg_mr", "unused")])?;
    said.must_say("/libraries/0/path", "libmlx5.so.1.24.44.0")?;
    said.must_say("/libraries/1/rdma_core", "44")?;
    said.must_say("/advice", "verbsguard run -- ")
}

fn looks_up(bench: &Bench) -> Outcome {
    let program = bench.compile("nccl.c", "nccl", &[])?;
    let said = doctor(&[&program], "")?;
    let audit = ["ibv_alloc_pd", "ibv_reg_mr_iova2", "ibv_reg_dmabuf_mr", "mlx5dv_devx_umem_reg_ex"]
        .map(|name| (name, "audit"));
    said.must(0, &audit)?;
    said.must(0, &[("ibv_import_pd", "unused")])?;
    said.must_say("/libraries/0/path", "libibverbs.so.1.14.44.0")?;
    said.must_say("/program/opens_verbs/0", "nccl")?;
    said.must_say("/advice", "verbsguard run --audit -- ")
}

fn both(bench: &Bench) -> Outcome {
    let program = bench.compile("nvshmem.c", "nvshmem", &["-lmlx5"])?;
    doctor(&[&program], "")?.must(0, &[("ibv_dealloc_pd", "audit"), ("mlx5dv_devx_umem_reg", "linked")])
}

fn static_program(bench: &Bench) -> Outcome {
    let program = bench.compile("own_copy.c", "static", &["-static", "-w"])?;
    let said = doctor(&[&program], "")?;
    said.must(1, &[("ibv_alloc_pd", "not at all")])?;
    said.must_say("/program/obstacle", "static")?;
    let stripped = bench.copy(&program, "stripped", |_| {})?;
    output_of(Command::new("strip").arg(&stripped))?;
    doctor(&[&stripped], "")?.must(1, &[("ibv_alloc_pd", "unused")])
}

fn setuid(bench: &Bench) -> Outcome {
    let program = bench.compile("linked.c", "setuid", &["-lmlx5", "-libverbs"])?;
    let at = |error: std::io::Error| error.to_string();
    // Root's own would not be raised for root.
    chown(&program, Some(65534), Some(65534)).map_err(at)?;
    doctor(&[&program], "")?.must(0, &[("ibv_unimport_pd", "linked")])?;
    for mode in [0o4755, 0o2755] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).map_err(at)?;
        let said = doctor(&[&program], "")?;
        said.must(1, &[("ibv_unimport_pd", "not at all"), ("ibv_reg_mr", "unused")])?;
        said.must_say("/program/obstacle", "raised rights")?;
        said.must_say("/entry_points", "ignores LD_PRELOAD")?;
    }
    Ok(())
}

fn bundled(bench: &Bench) -> Outcome {
    bench.core.bundle(&bench.folder)?;
    let folder = format!("-L{}", bench.folder.display());
    let copies = [&folder, "-l:libmlx5-1.so", "-l:libibverbs-1.so", "-Wl,-rpath,$ORIGIN"];
    let program = bench.compile("linked.c", "wheel", &copies)?;
    let said = doctor(&[&program], "")?;
    said.must(0, &[("ibv_unimport_pd", "linked"), ("mlx5dv_devx_umem_dereg", "linked")])?;
    said.must_say("/libraries/0/path", "doctor/libmlx5-1.so")?;
    said.must_say("/libraries/1/path", "doctor/libibverbs-1.so")?;
    said.must_say("/advice", &format!("\"verbsguard run -- {}\"", program.display()))
}

fn script(bench: &Bench) -> Outcome {
    let program = bench.compile("linked.c", "interpreter", &["-lmlx5", "-libverbs"])?;
    let script = bench.text_file("script", &format!("#!{} -x\n", program.display()))?;
    let said = doctor(&[&script], "")?;
    said.must(0, &[("ibv_unimport_pd", "linked")])?;
    said.must_say("/program/scripts/0", "doctor/script")?;
    said.must_say("/program/path", "doctor/interpreter")
}

fn shell_script(bench: &Bench) -> Outcome {
    let script = bench.text_file("sh", "#!/usr/bin/env sh\n./app\n")?;
    let said = doctor(&[&script], "")?;
    said.must(2, &[("ibv_unimport_pd", "unused")])?;
    doctor(&[Path::new("sh"), Path::new("-c"), Path::new("./app")], "")?.must(2, &[])?;
    doctor(&[Path::new("true")], "")?.must(0, &[])
}

fn old_caller(bench: &Bench) -> Outcome {
    let program = bench.compile("old_caller.c", "old_caller", &["-libverbs"])?;
    let said = doctor(&[&program], "")?;
    said.must(1, &[("ibv_alloc_pd", "not at all")])?;
    said.must_say("/entry_points", "calls the one of IBVERBS_1.0")
}

fn own_copy(bench: &Bench) -> Outcome {
    let program = bench.compile("own_copy.c", "own_copy", &[])?;
    let said = doctor(&[&program], "")?;
    said.must(1, &[("ibv_alloc_pd", "not at all"), ("ibv_reg_mr", "unused")])?;
    said.must_say("/entry_points", "holds a function of this name itself")
}

fn opener(bench: &Bench) -> Outcome {
    let program = bench.compile("opener.c", "opener", &[])?;
    let said = doctor(&[&program, Path::new("with space")], "")?;
    said.must(2, &[("ibv_alloc_pd", "unused")])?;
    said.must_say("/program/opens/0", "doctor/opener")?;
    said.must_say("/advice", "--audit")?;
    said.must_say("/advice", "'with space'")
}

fn library_gone(bench: &Bench) -> Outcome {
    let gone = bench.folder.join("libgone.so");
    output_of(Command::new("cc").args(["-shared", "-o"]).arg(&gone).args(["-x", "c", "/dev/null"]))?;
    let library = gone.to_string_lossy().into_owned();
    let program = bench.compile("opener.c", "gone", &["-Wl,--no-as-needed", &library])?;
    doctor(&[&program], "")?.must_say("/program/missing", "[]")?;
    fs::remove_file(&gone).map_err(|error| error.to_string())?;
    let said = doctor(&[&program], "")?;
    said.must(2, &[])?;
    said.must_say("/program/missing/0", "libgone.so")?;
    let shown = Command::new(built("verbsguard")?).arg("doctor").arg("--").arg(&program).output();
    let shown = String::from_utf8_lossy(&shown.map_err(|error| error.to_string())?.stdout).into_owned();
    if shown.contains("\nIt cannot start: a library is not found.\n") { Ok(()) } else { Err(shown) }
}

fn other_loader(bench: &Bench) -> Outcome {
    let program = bench.compile("opener.c", "other_loader", &["-Wl,--dynamic-linker=/bin/true"])?;
    let said = doctor(&[&program], "")?;
    said.must(1, &[])?;
    said.must_say("/program/obstacle", "is not glibc's")
}

/// The machine's own loader with another name in the place of its node for 2.35.
fn old_glibc(bench: &Bench) -> Outcome {
    let loader = bench.copy(Path::new("/lib64/ld-linux-x86-64.so.2"), "old-loader.so", |bytes| {
        replace(bytes, b"GLIBC_2.35\0", b"GLIBC_2.XX\0");
    })?;
    let chosen = format!("-Wl,--dynamic-linker={}", loader.display());
    let program = bench.compile("nvshmem.c", "old_glibc", &["-lmlx5", &chosen])?;
    let said = doctor(&[&program], "")?;
    said.must(1, &[("ibv_dealloc_pd", "not at all"), ("mlx5dv_devx_umem_dereg", "linked")])?;
    said.must_say("/entry_points", "too old for the auditor")?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(built("verbsguard")?);
        command.arg("run").args(arguments).arg("--").arg(&program).env("VERBSGUARD_OPTIONS", "log=/dev/null");
        command.output().map_err(|error| error.to_string())
    };
    // By itself run goes on without the auditor; only the changed name keeps this loader from starting the program.
    let by_itself = run(&[])?;
    let asked_for = run(&["--audit"])?;
    for (output, status) in [(by_itself, 1), (asked_for, 2)] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let lines = stderr.lines().filter(|line| line.contains("too old for the auditor")).count();
        if output.status.code() != Some(status) || lines != 1 {
            return Err(format!("ended with {:?}, not {status}: {stderr}", output.status));
        }
    }
    Ok(())
}

fn foreign(bench: &Bench) -> Outcome {
    const EI_CLASS: usize = 4;
    let program = bench.compile("opener.c", "native", &[])?;
    let foreign = bench.copy(&program, "foreign", |bytes| bytes[EI_CLASS] = 1)?;
    let said = doctor(&[&foreign], "")?;
    said.must(1, &[])?;
    said.must_say("/program/obstacle", "another kind of machine")
}

fn no_program(bench: &Bench) -> Outcome {
    let text = bench.text_file("text", "not a program\n")?;
    let missing = bench.folder.join("missing");
    let cases = [
        (text.as_path(), "is neither a program nor a script"),
        (&missing, "No such file"),
        (Path::new("no-such-program-here"), "no such program in PATH"),
    ];
    for (command, words) in cases {
        let said = doctor(&[command], "")?;
        let one_line = said.stderr.lines().count() == 1 && said.stderr.starts_with("verbsguard: ");
        if said.status != Some(2) || !one_line || !said.stderr.contains(words) || said.json != Value::Null {
            return Err(format!("{}: {:?} {}", command.display(), said.status, said.stderr));
        }
    }
    Ok(())
}

fn no_command(bench: &Bench) -> Outcome {
    let lib = bench.core.lib();
    let options = format!("libibverbs={0}/libibverbs.so.1:libmlx5={0}/libmlx5.so.1", lib.display());
    let said = doctor(&[], &options)?;
    said.must(0, &[])?;
    said.must_say("/libraries", "libmlx5.so.1.24.44.0")?;
    let provided = |name: &str| said.of(name)["provided"].clone();
    if provided("mlx5dv_devx_umem_reg") != true || provided("mlx5dv_devx_umem_export") != false {
        return Err(format!("{:#}", said.json["entry_points"]));
    }
    said.must_say("/kernel", "OFD locks")
}

fn text(bench: &Bench) -> Outcome {
    let program = bench.compile("nvshmem.c", "text_nvshmem", &["-lmlx5"])?;
    let mut command = Command::new(built("verbsguard")?);
    let shown = output_of(command.arg("doctor").arg("--").arg(&program).env_remove("LD_PRELOAD"))?;
    for words in [
        "program     ",
        "(rdma-core 44)",
        "\nlinked         mlx5dv_devx_umem_reg@MLX5_1.7  ",
        "\naudit          ibv_dealloc_pd@IBVERBS_1.1  ",
        "\nAll 3 that it calls will be intercepted.\n",
        "\nTo do\n  verbsguard run --audit -- ",
    ] {
        if !shown.contains(words) {
            return Err(format!("does not show '{words}':\n{shown}"));
        }
    }
    if shown.contains('\x1b') { Err("colours without a terminal".into()) } else { Ok(()) }
}
