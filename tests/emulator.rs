//! The emulated device by itself, without the guard: Debian's own tools and the programs of tests-c/emu on it, the
//! table of what the real kernel does, and what is left when it is over.
//!
//! Locks, killed owners and importers, faults, a removed device and other users are cases of that table.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, built, output_of, project, tap};

/// No program here needs so long, even on a busy machine. GNU timeout, so that nothing is left behind.
const PATIENCE: &str = "100";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("emulator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let mut trials = Vec::new();
    for version in VERSIONS {
        let bench = Arc::new(Bench::new(*version)?);
        for (name, test) in ON_EVERY_VERSION {
            let bench = bench.clone();
            trials.push(Trial::test(format!("{version}::{name}"), move || Ok(test(&bench)?)));
        }
        if *version == VERSIONS[0] {
            trials.extend(truths(&bench)?);
            trials.extend(ONCE.iter().map(|(name, test)| {
                let bench = bench.clone();
                Trial::test(*name, move || Ok(test(&bench)?))
            }));
        }
    }
    Ok(trials)
}

type Test = (&'static str, fn(&Bench) -> Outcome);

const ON_EVERY_VERSION: &[Test] = &[
    ("ibv_devices", devices),
    ("ibv_devinfo", devinfo),
    ("two_unrelated_processes", flow),
    ("many_processes_and_threads", stress),
    ("queues", |bench| objects(bench, "queues")),
    ("receive", |bench| objects(bench, "receive")),
    ("memory", |bench| objects(bench, "memory")),
    ("devx", |bench| objects(bench, "devx")),
    ("steering", |bench| objects(bench, "steering")),
    ("address_handles", |bench| objects(bench, "address_handles")),
    ("pingpongs", pingpongs),
];

const ONCE: &[Test] = &[
    ("garbage", garbage),
    ("nothing_is_left", nothing_is_left),
    ("nothing_is_left_of_a_killed_program", nothing_is_left_of_a_killed_program),
    ("no_ledger_is_left", no_ledger_is_left),
    ("control_refuses_in_one_line", control_refuses),
];

/// An rdma-core, with a folder for what is compiled for it.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
}

impl Bench {
    fn new(version: u32) -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emulator-{version}"));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Bench { core: RdmaCore::find(version)?, folder })
    }

    /// One of the programs of tests-c/emu.
    fn program(&self, name: &str) -> Outcome<PathBuf> {
        let out = self.folder.join(name);
        self.core.build(&[project().join("tests-c/emu").join(format!("{name}.c"))], &out)?;
        Ok(out)
    }

    /// One of rdma-core's own.
    fn tool(&self, name: &str) -> Vec<PathBuf> {
        let tool = self.core.root.join("usr/bin").join(name);
        match self.core.loader() {
            Some(loader) => vec![loader, "--library-path".into(), self.core.lib(), tool],
            None => vec![tool],
        }
    }
}

/// `verbsguard run` without the guard.
fn emulated(devices: u32) -> Outcome<Command> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE).arg(built("verbsguard")?).args(["run", "--no-guard"]).arg(format!("--emulate={devices}"));
    command.arg("--").env_remove("LD_PRELOAD").env_remove("VERBSGUARD_OPTIONS").stdin(Stdio::null());
    Ok(command)
}

fn tool_output(bench: &Bench, devices: u32, name: &str, arguments: &[&str]) -> Outcome<String> {
    output_of(emulated(devices)?.args(bench.tool(name)).args(arguments).env("LD_LIBRARY_PATH", library_path(bench)))
}

/// Only for tools that the machine's own loader runs: another C library must not come near that one's programs.
fn library_path(bench: &Bench) -> PathBuf {
    if bench.core.loader().is_some() { PathBuf::new() } else { bench.core.lib() }
}

fn shows(text: &str, wanted: &[&str]) -> Outcome {
    match wanted.iter().find(|line| !text.contains(**line)) {
        Some(line) => Err(format!("does not show '{line}':\n{text}")),
        None => Ok(()),
    }
}

fn devices(bench: &Bench) -> Outcome {
    for count in [1, 3, 32] {
        let listed = tool_output(bench, count, "ibv_devices", &[])?;
        let found = listed.lines().filter(|line| line.trim_start().starts_with("mlx5_")).count();
        if found != count as usize {
            return Err(format!("{found} devices instead of {count}:\n{listed}"));
        }
        shows(&listed, &["mlx5_0          \t00124bfffe000001"])?;
    }
    Ok(())
}

fn devinfo(bench: &Bench) -> Outcome {
    let told = tool_output(bench, 2, "ibv_devinfo", &["-v", "-d", "mlx5_1"])?;
    let wanted = [
        "hca_id:\tmlx5_1",
        "fw_ver:\t\t\t\t16.35.3006",
        "vendor_id:\t\t\t0x02c9",
        "vendor_part_id:\t\t\t4119",
        "max_pd:\t\t\t\t16777216",
        "state:\t\t\tPORT_ACTIVE (4)",
        "link_layer:\t\tInfiniBand",
    ];
    shows(&told, &wanted)
}

fn flow(bench: &Bench) -> Outcome {
    let program = bench.program("flow")?;
    let socket = bench.folder.join("flow-socket");
    let script = "\"$0\" owner \"$1\" & owner=$!; \"$0\" importer \"$1\" && wait $owner";
    let said = output_of(emulated(1)?.args(["sh", "-c", script]).arg(program).arg(socket))?;
    let wanted = if bench.core.version >= 63 { "shared a PD and a UMEM\n" } else { "shared a PD\n" };
    if said == wanted { Ok(()) } else { Err(format!("said {said:?} instead of {wanted:?}")) }
}

fn stress(bench: &Bench) -> Outcome {
    let said = output_of(emulated(1)?.arg(bench.program("stress")?).arg("200"))?;
    shows(&said, &["16000 calls, 0 processes failed"])
}

/// A program about one family of objects.
fn objects(bench: &Bench, name: &str) -> Outcome {
    let said = output_of(emulated(1)?.arg(bench.program(name)?))?;
    shows(&said, &["good\n"])
}

/// rdma-core's examples, as far as they come without a wire: both sides have made their queue pairs, and know each
/// other's.
const PINGPONGS: &[(&str, &str)] = &[
    ("ibv_rc_pingpong", ""),
    ("ibv_rc_pingpong", "-e"),
    ("ibv_uc_pingpong", ""),
    ("ibv_ud_pingpong", ""),
    ("ibv_srq_pingpong", ""),
    ("ibv_xsrq_pingpong", ""),
    // Over Ethernet; the kernel makes the address handle.
    ("ibv_rc_pingpong", "-g 0"),
    ("ibv_ud_pingpong", "-g 0"),
];

fn pingpongs(bench: &Bench) -> Outcome {
    PINGPONGS.iter().try_for_each(|(name, options)| {
        let said = pingpong(bench, name, options)?;
        shows(&said, &["local", "remote"]).map_err(|wrong| format!("{name} {options} {wrong}"))
    })
}

fn pingpong(bench: &Bench, name: &str, options: &str) -> Outcome<String> {
    // A client that comes too early ends, and is followed by another one.
    let script = "case $3 in -g*) \"$4\" emu-control link ethernet;; esac; cd \"$1\"; port=$2; options=$3; shift 4
        rm -f said; stdbuf -oL \"$@\" $options -p $port >said 2>&1 & server=$!; client=$server
        until grep -q remote said || ! kill -0 $server; do
            if [ $client = $server ] || ! kill -0 $client 2>/dev/null; then
                stdbuf -oL \"$@\" $options -p $port localhost >client 2>&1 & client=$!
            fi
            sleep 0.02
        done
        kill $client $server; wait; cat said";
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = port.map_err(|error| format!("no free port: {error}"))?.port();
    let mut command = emulated(1)?;
    command.args(["sh", "-c", script, "sh"]).arg(&bench.folder).arg(port.to_string()).arg(options);
    command.arg(built("verbsguard")?).args(bench.tool(name)).env("LD_LIBRARY_PATH", library_path(bench));
    output_of(&mut command)
}

fn garbage(bench: &Bench) -> Outcome {
    let said = output_of(emulated(1)?.arg(bench.program("garbage")?))?;
    shows(&said, &["still there"])
}

/// The table of what the real kernel does, all in one run: one trial for each case.
fn truths(bench: &Bench) -> Outcome<Vec<Trial>> {
    let folder = project().join("tests-kernel/truth");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let sources = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|c| c == "c"));
    let truth = bench.folder.join("truth");
    bench.core.build(&sources.collect::<Vec<_>>(), &truth)?;
    let control = format!("{} emu-control", built("verbsguard")?.display());
    let played = emulated(1)?.arg(truth).arg(folder.join("cases")).env("TRUTH_CONTROL", control).output();
    let played = played.map_err(|error| format!("cannot run the truth program: {error}"))?;
    let text = String::from_utf8_lossy(&played.stdout).into_owned();
    if !text.lines().any(|line| line.starts_with("1..")) {
        return Err(format!("the truth program did not come to its end:\n{text}"));
    }
    Ok(tap::trials(&text, "truth::"))
}

/// A program that goes on until it is killed, and the folder of its daemon.
fn start_sleeper() -> Outcome<(Child, PathBuf)> {
    let mut command = Command::new(built("verbsguard")?);
    command.args(["run", "--no-guard", "--emulate", "--", "sleep", PATIENCE]).env_remove("LD_PRELOAD");
    let child = command.stdin(Stdio::null()).spawn().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let environment = format!("/proc/{}/environ", child.id());
    let folder = || {
        let bytes = fs::read(&environment).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split('\0').find_map(|one| one.strip_prefix("VERBSGUARD_EMU=").map(PathBuf::from))
    };
    match within(Duration::from_secs(20), folder) {
        Some(folder) => Ok((child, folder)),
        None => Err("the program did not start".into()),
    }
}

fn within<T>(time: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        match find() {
            None if start.elapsed() < time => thread::sleep(Duration::from_millis(2)),
            found => return found,
        }
    }
}

/// The daemons that serve a folder: those whose sockets are in it.
fn is_served(folder: &Path) -> bool {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    sockets.lines().any(|line| line.contains(&format!("{}/", folder.display())))
}

fn is_gone(folder: &Path) -> Outcome {
    let gone = within(Duration::from_secs(20), || (!folder.exists() && !is_served(folder)).then_some(()));
    gone.ok_or_else(|| format!("{} or its daemon is still there", folder.display()))
}

fn nothing_is_left(_: &Bench) -> Outcome {
    let said = output_of(emulated(2)?.args(["sh", "-c", "echo \"$VERBSGUARD_EMU\"; ls \"$VERBSGUARD_EMU\" >&2"]))?;
    is_gone(Path::new(said.trim()))
}

fn nothing_is_left_of_a_killed_program(_: &Bench) -> Outcome {
    let (mut child, folder) = start_sleeper()?;
    let was_served = folder.join("uverbs0").exists() && is_served(&folder);
    let killed = child.kill().and_then(|()| child.wait());
    killed.map_err(|error| format!("cannot kill the program: {error}"))?;
    if !was_served {
        return Err(format!("nothing served {}", folder.display()));
    }
    is_gone(&folder)
}

fn no_ledger_is_left(bench: &Bench) -> Outcome {
    let ledger = bench.folder.join("ledger");
    let _ = fs::remove_dir_all(&ledger);
    fs::create_dir(&ledger).map_err(|error| format!("cannot make {}: {error}", ledger.display()))?;
    let socket = bench.folder.join("ledger-socket");
    // The owner is killed, so that it leaves its ledger to others.
    let script = "\"$0\" owner \"$1\" & owner=$!; sleep 0.2; \"$0\" importer \"$1\"; ls \"$2\"; kill -9 $owner; true";
    let mut command = Command::new("timeout");
    command.arg(PATIENCE).arg(built("verbsguard")?).args(["run", "--emulate", "-o"]);
    command.arg(format!("ledger={}", ledger.display())).args(["--", "sh", "-c", script]);
    command.arg(bench.program("flow")?).arg(&socket).arg(&ledger).env_remove("LD_PRELOAD");
    let said = output_of(&mut command)?;
    if said.lines().count() < 2 {
        return Err(format!("no ledger was kept in {}:\n{said}", ledger.display()));
    }
    let is_empty = || fs::read_dir(&ledger).is_ok_and(|mut entries| entries.next().is_none()).then_some(());
    within(Duration::from_secs(20), is_empty).ok_or_else(|| format!("something is left in {}", ledger.display()))
}

fn control_refuses(_: &Bench) -> Outcome {
    refuses(&["remove", "7"], "there is no device 7")?;
    refuses(&["fail", "reg_mrs", "EIO"], "there is no kind of request 'reg_mrs'")
}

fn refuses(arguments: &[&str], why: &str) -> Outcome {
    let control = built("verbsguard")?;
    let asked = emulated(1)?.arg(control).arg("emu-control").args(arguments).output();
    let asked = asked.map_err(|error| format!("cannot run emu-control: {error}"))?;
    let said = String::from_utf8_lossy(&asked.stderr);
    match asked.status.code() == Some(1) && said == format!("verbsguard: {why}\n") {
        true => Ok(()),
        false => Err(format!("{}, and said {said:?}", asked.status)),
    }
}
