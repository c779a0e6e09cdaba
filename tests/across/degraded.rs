//! Ledgers that cannot be written, or not be believed: the program is unharmed, nothing false is claimed, and what is the
//! matter is said once by each process that it is the matter with.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use verbsguard_tests::expect::End;
use verbsguard_tests::{Outcome, built, run};

use crate::{Bench, fresh, is_root, trial_or};

/// What is the matter.
#[derive(Clone, Copy)]
enum Matter {
    /// With the directory, from the start: made so by this.
    Directory(fn(&Path) -> std::io::Result<()>),
    /// With what is in it, once A is there: done by the program itself.
    Inside(&'static str),
    /// The same, where a group shares the directory.
    InsideShared(&'static str),
    /// There is to be none.
    Off,
    /// The rights to write there are not ours, not even as root.
    NoRights,
    /// It is a disk of this size.
    Disk(&'static str),
}

/// What is the matter, what is said, and by how many of the three processes. A rewrites a full log, and so mends it for
/// who comes after that.
type Case = (&'static str, Matter, &'static str, usize);

const CASES: &[Case] = &[
    ("nothing", Matter::Inside("none"), "", 0),
    ("nothing_shared", Matter::InsideShared("none"), "", 0),
    ("off", Matter::Off, "", 0),
    ("read_only", Matter::NoRights, "only this process is seen: cannot make", 3),
    ("a_file", Matter::Directory(a_file), "is not a directory", 3),
    ("a_link", Matter::Directory(a_link), "is not a directory", 3),
    ("open_to_all", Matter::Directory(open_to_all), "can be written by everybody", 3),
    ("garbage", Matter::Inside("garbage"), "a ledger file is damaged", 1),
    ("scribble", Matter::Inside("scribble"), "not all that happened", 3),
    ("truncated", Matter::Inside("truncated"), "a ledger file is damaged", 1),
    ("version", Matter::Inside("version"), "which this version cannot read", 1),
    ("owner", Matter::Inside("owner"), "permission denied", 1),
    ("folder_owner", Matter::Inside("folder-owner"), "is not a folder of this user", 2),
    ("link", Matter::Inside("link"), "cannot append", 1),
    ("folder_link", Matter::Inside("folder-link"), "is not a folder of this user", 2),
    ("shared_garbage", Matter::InsideShared("garbage"), "a ledger file is damaged", 1),
    ("shared_truncated", Matter::InsideShared("truncated-in-place"), "a ledger file is damaged", 2),
    ("disk_full", Matter::Disk("4k"), "No space left on device", 3),
    ("disk_fills_up", Matter::Disk("100k"), "(a full disk, a damaged file?)", 2),
];

fn a_file(path: &Path) -> std::io::Result<()> {
    std::fs::write(path, "")
}

fn a_link(path: &Path) -> std::io::Result<()> {
    let target = path.with_extension("target");
    std::fs::create_dir_all(&target)?;
    symlink(target, path)
}

fn open_to_all(path: &Path) -> std::io::Result<()> {
    mode(path, 0o777)
}

fn mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a small disk for its first argument, then runs the others.
const ON_A_DISK: &str = "mount -t tmpfs -o \"size=$0,mode=0700\" none \"$1\" && shift && exec \"$@\"";

pub fn trials(bench: &Arc<Bench>) -> Outcome<Vec<Trial>> {
    let program = bench.compile("ledger/sabotaged.c")?;
    let trial = |case: &Case| {
        let (bench, program, case) = (bench.clone(), program.clone(), *case);
        trial_or(unfit(case.1), format!("degraded::{}", case.0), move || holds(&bench, &program, case))
    };
    let mut trials: Vec<Trial> = CASES.iter().map(trial).collect();
    let bench = bench.clone();
    trials.push(trial_or(None, "degraded::unless_asked".into(), move || says_nothing_unasked(&bench, &program)));
    Ok(trials)
}

/// Without `verbose=1` a ledger that cannot be had is nobody's business.
fn says_nothing_unasked(bench: &Bench, program: &Path) -> Outcome {
    let folder = fresh(&bench.folder.join("unless_asked"))?;
    let ledger = folder.join("ledger");
    a_file(&ledger).map_err(|error| error.to_string())?;
    let done = run::run(program, &folder, &["-o", &format!("ledger={}", ledger.display())], &[])?;
    if done.end != End::Status(0) || !done.stderr.is_empty() {
        return Err(format!("ended with {:?} and said: {}", done.end, done.stderr));
    }
    Ok(())
}

/// Why a case cannot be tried here.
fn unfit(matter: Matter) -> Option<&'static str> {
    let can = |command: &str, arguments: &[&str]| {
        Command::new(command).args(arguments).output().is_ok_and(|done| done.status.success())
    };
    match matter {
        Matter::Inside("owner" | "folder-owner") if !is_root() => Some("only root can give files away"),
        Matter::NoRights if is_root() && !can("setpriv", &[WITHOUT_RIGHTS, "true"]) => {
            Some("setpriv cannot take root's rights here")
        }
        Matter::Disk(_) if !can("unshare", &["-m", "sh", "-c", "mount -t tmpfs none /mnt"]) => {
            Some("unshare cannot mount a small disk here")
        }
        _ => None,
    }
}

const WITHOUT_RIGHTS: &str = "--bounding-set=-dac_override,-dac_read_search";

fn holds(bench: &Bench, program: &Path, (name, matter, says, times): Case) -> Outcome {
    let folder = fresh(&bench.folder.join(name))?;
    let plain = run::run(program, &folder, &["--no-guard"], &[])?;
    let ledger = folder.join("ledger");
    prepare(&ledger, matter).map_err(|error| format!("cannot prepare {}: {error}", ledger.display()))?;
    let log = folder.join("log");
    let mut command = command(matter, &ledger)?;
    let place = if matches!(matter, Matter::Off) { "off".to_owned() } else { ledger.display().to_string() };
    for option in [format!("ledger={place}"), format!("log={}", log.display()), "verbose=1".to_owned()] {
        command.args(["-o", &option]);
    }
    command.arg("--").arg(program);
    let mut env = vec![("LEDGER".to_owned(), ledger.display().to_string())];
    if let Matter::Inside(how) | Matter::InsideShared(how) = matter {
        env.push(("SABOTAGE".to_owned(), how.to_owned()));
    }
    let done = run::finish(command, &folder, &env)?;
    // What is the matter with the guard itself goes to standard error.
    let log = std::fs::read_to_string(&log).unwrap_or_default() + &done.stderr;
    let mut wrong = String::new();
    if done.end != End::Status(0) || done.stdout != plain.stdout {
        wrong += &format!("ended with {:?}, or in another way than unguarded\n", done.end);
    }
    wrong += &heard(&log, says, times);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{wrong}--- log and standard error\n{log}--- standard output\n{}", done.stdout))
}

fn prepare(ledger: &Path, matter: Matter) -> std::io::Result<()> {
    match matter {
        Matter::Directory(make) => make(ledger),
        Matter::InsideShared(_) => mode(ledger, 0o2770),
        Matter::NoRights => mode(ledger, 0o500),
        Matter::Inside(_) | Matter::Disk(_) => mode(ledger, 0o700),
        Matter::Off => Ok(()),
    }
}

fn command(matter: Matter, ledger: &Path) -> Outcome<Command> {
    let verbsguard: PathBuf = built("verbsguard")?;
    let mut command = match matter {
        Matter::NoRights if is_root() => {
            let mut command = Command::new("setpriv");
            command.arg(WITHOUT_RIGHTS).arg(verbsguard);
            command
        }
        Matter::Disk(size) => {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", ON_A_DISK, size]).arg(ledger).arg(verbsguard);
            command
        }
        _ => Command::new(verbsguard),
    };
    command.args(["run", "--emulate"]);
    Ok(command)
}

/// What is wrong with a log in which so many processes are to have said this, each once, and found nothing.
fn heard(log: &str, says: &str, times: usize) -> String {
    let mut wrong = String::new();
    for line in log.lines().filter(|line| line.contains("==ERROR: ") || line.contains("==WARNING: ")) {
        wrong += &format!("not expected: {line}\n");
    }
    let troubled = ["only this process is seen", "not all that happened", "(a full disk, a damaged file?)"];
    let said: Vec<&str> = log.lines().filter(|line| troubled.iter().any(|words| line.contains(words))).collect();
    let right: Vec<&&str> = said.iter().filter(|line| !says.is_empty() && line.contains(says)).collect();
    let mut speakers: Vec<&str> = right.iter().filter_map(|line| line.split("==").nth(1)).collect();
    speakers.sort_unstable();
    speakers.dedup();
    if right.len() != times || speakers.len() != times {
        wrong += &format!("said by {} processes, {} times, and not {times}: {says}\n", speakers.len(), right.len());
    }
    if says.is_empty() && !said.is_empty() {
        wrong += &format!("not to be said: {said:?}\n");
    }
    wrong
}
