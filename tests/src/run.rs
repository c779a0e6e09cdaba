//! Running one program on the emulated device, guarded and not.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::expect::{End, Expectation, Log};
use crate::{Outcome, built, findings};

/// No program needs so long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The C library's own malloc then writes over what is freed. Otherwise a released struct may stand there unchanged, which
/// the guard must not tell from one whose birth it did not see, and a second release goes unreported now and then.
pub const SCRIBBLE: (&str, &str) = ("MALLOC_PERTURB_", "165");

/// What a run left behind.
pub struct Done {
    /// How it ended.
    pub end: End,
    /// Its standard output: the trace.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `program` in `folder` through `verbsguard run` with these arguments.
pub fn run(program: &Path, folder: &Path, arguments: &[&str], env: &[(String, String)]) -> Outcome<Done> {
    let mut command = Command::new(built("verbsguard")?);
    command.args(["run", "--emulate"]).args(arguments).arg("--").arg(program);
    finish(command, folder, env)
}

/// Runs a command in `folder` to its end; what it wrote lies there, too.
pub fn finish(mut command: Command, folder: &Path, env: &[(String, String)]) -> Outcome<Done> {
    let file = |name: &str| fs::File::create(folder.join(name)).map_err(|error| format!("{name}: {error}"));
    command.current_dir(folder).stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
    command.env_remove("VERBSGUARD_OPTIONS").env_remove("LD_PRELOAD").process_group(0);
    command.env(SCRIBBLE.0, SCRIBBLE.1).envs(env.iter().map(|(name, value)| (name, value)));
    let child = command.spawn().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let status = wait(child)?;
    let read = |name: &str| {
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Done { end: end(status), stdout: read("stdout")?, stderr: read("stderr")? })
}

fn wait(mut child: Child) -> Outcome<ExitStatus> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.wait();
                return Err(format!("did not end within {} seconds", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait: {error}")),
        }
    }
}

fn end(status: ExitStatus) -> End {
    match status.signal() {
        Some(signal) => End::Signal(signal),
        None => End::Status(status.code().unwrap_or(-1)),
    }
}

/// Runs `program` guarded and compares what was found with what it expects.
pub fn guarded(program: &Path, folder: &Path, expectation: &Expectation) -> Outcome {
    let log = folder.join("log");
    let log_option = format!("log={}", log.display());
    let log_text = log.to_string_lossy();
    let mut arguments = match expectation.log {
        Log::Json => vec!["--json", &log_text],
        Log::Stderr => vec![],
        Log::File => vec!["-o", &log_option],
    };
    // A folder of its own: what else runs on this host, by another test or another user of it, is not to be named.
    let ledger = format!("ledger={}", folder.join("ledger").display());
    arguments.extend(["-o", &ledger]);
    let options = expectation.options.as_deref().unwrap_or_default();
    for option in options.split(':').filter(|option| !option.is_empty()) {
        arguments.extend(["-o", option]);
    }
    arguments.extend(expectation.run.iter().map(String::as_str));
    let done = run(program, folder, &arguments, &expectation.env)?;
    judge(&done, &log, expectation)
        .map_err(|wrong| format!("{wrong}--- standard output\n{}--- standard error\n{}", done.stdout, done.stderr))
}

fn judge(done: &Done, log: &Path, expectation: &Expectation) -> Outcome {
    let mut wrong = String::new();
    if done.end != expectation.end() {
        wrong.push_str(&format!("ended with {:?}, expected {:?}\n", done.end, expectation.end()));
    }
    match expectation.log {
        Log::Json => wrong.push_str(&findings::compare(&findings::read(log)?, expectation).err().unwrap_or_default()),
        Log::File if log.exists() => wrong.push_str("wrote a log file\n"),
        Log::File | Log::Stderr => {}
    }
    let json = (expectation.log == Log::Json).then(|| fs::read_to_string(log).unwrap_or_default());
    let said = json.as_ref().unwrap_or(&done.stderr);
    for shown in expectation.shows.iter().filter(|shown| !said.contains(shown.as_str())) {
        wrong.push_str(&format!("does not show: {shown}\n"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Runs `program` without the guard and with it in `observe`: nothing that it can see may differ.
pub fn parity(program: &Path, folder: &Path, expectation: &Expectation) -> Outcome {
    let log = folder.join("parity-log");
    let log = log.to_string_lossy();
    let mut observe = vec!["--json", &log, "-o", "mode=observe", "-o", "exitcode=0"];
    observe.extend(expectation.run.iter().map(String::as_str));
    let plain = run(program, folder, &["--no-guard"], &expectation.env)?;
    let watched = run(program, folder, &observe, &expectation.env)?;
    if plain.end != watched.end {
        return Err(format!("ends with {:?} unguarded, with {:?} guarded\n{}", plain.end, watched.end, watched.stderr));
    }
    if plain.stderr != watched.stderr {
        return Err(format!("standard error unguarded:\n{}guarded:\n{}", plain.stderr, watched.stderr));
    }
    match plain.stdout.lines().zip(watched.stdout.lines()).find(|(one, other)| one != other) {
        Some((one, other)) => Err(format!("unguarded: {one}\nguarded:   {other}\n")),
        None if plain.stdout != watched.stdout => Err("one trace is longer than the other\n".into()),
        None => Ok(()),
    }
}
