//! `verbsguard doctor`: what of a program will be intercepted, what not, and why.

mod elf;
mod examine;
mod loader;
mod program;
mod show;
mod system;
mod verdict;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use verbsguard_core::options::Options;

use crate::look::Look;
pub use examine::{AUDITOR, Audit, GUARD, audit};
use examine::{Examination, examine};
pub use program::find;
use system::{LedgerState, Support};
use verdict::Interception;

/// Says which real libraries there are, and which calls of a command will be intercepted, which not, and why.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The command to look at; it is not run
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Whether all that a program calls comes to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// It does.
    All,
    /// Something does not.
    Not,
    /// It does not show from outside.
    Unknown,
}

impl Answer {
    fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Answer::All => 0,
            Answer::Not => 1,
            Answer::Unknown => 2,
        })
    }
}

/// All that is told.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: u32,
    command: Vec<String>,
    intercepted: Answer,
    #[serde(flatten)]
    examination: Examination,
    ledger: LedgerState,
    kernel: Vec<Support>,
    devices: Vec<String>,
    advice: Vec<String>,
}

impl Doctor {
    /// Looks, and prints what was found.
    pub fn run(&self) -> io::Result<ExitCode> {
        let environment = std::env::var("VERBSGUARD_OPTIONS").unwrap_or_default();
        let (options, complaints) = Options::parse(&[&environment]);
        for complaint in complaints {
            eprintln!("verbsguard: {complaint}");
        }
        let examination = match examine(&self.command, &options) {
            Ok(examination) => examination,
            Err(error) => {
                eprintln!("verbsguard: {error}");
                return Ok(Answer::Unknown.exit_code());
            }
        };
        let diagnosis = self.diagnose(examination, &options);
        let out = io::stdout();
        let text = if self.json {
            serde_json::to_string(&diagnosis)? + "\n"
        } else {
            show::text(&diagnosis, &Look::of(out.is_terminal()))
        };
        out.lock().write_all(text.as_bytes())?;
        Ok(diagnosis.intercepted.exit_code())
    }

    fn diagnose(&self, examination: Examination, options: &Options) -> Diagnosis {
        let mut diagnosis = Diagnosis {
            schema: 1,
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            intercepted: judge(&examination),
            examination,
            ledger: system::ledger(options),
            kernel: system::kernel(),
            devices: system::devices(),
            advice: Vec::new(),
        };
        diagnosis.advice = advice(&diagnosis);
        diagnosis
    }
}

fn judge(examination: &Examination) -> Answer {
    let has = |wanted| examination.entry_points.iter().any(|verdict| verdict.interception() == wanted);
    let hides = |program: &examine::Examined| {
        [&program.scripts, &program.starts, &program.opens].iter().any(|paths| !paths.is_empty())
    };
    let used = [Interception::Linked, Interception::Audit, Interception::LinkedAndAudit].into_iter().any(has);
    match &examination.program {
        None if examination.libraries.is_empty() => Answer::Unknown,
        None => Answer::All,
        Some(program) if program.obstacle.is_some() => Answer::Not,
        Some(program) if has(Interception::None) || !program.hidden_copies.is_empty() => Answer::Not,
        Some(program) if !program.missing.is_empty() => Answer::Unknown,
        // What calls no verbs in sight, but opens libraries or starts programs, may call some out of sight.
        Some(program) if !used && hides(program) => Answer::Unknown,
        Some(_) => Answer::All,
    }
}

/// What to do about it.
fn advice(diagnosis: &Diagnosis) -> Vec<String> {
    let Diagnosis { examination, ledger, .. } = diagnosis;
    let mut advice = Vec::new();
    if examination.libraries.is_empty() && needs_libraries(examination) {
        advice.push("install rdma-core's libraries (Debian: libibverbs1 and ibverbs-providers)".into());
    }
    if !ledger.usable {
        advice.push("give the ledger a folder of yours: -o ledger=DIR; without one only one process is seen".into());
    }
    if let Some(program) = &examination.program {
        match diagnosis.intercepted {
            Answer::Not if program.obstacle.is_some() => advice.push(around(program)),
            Answer::Not => advice.push("see why each one is not intercepted".into()),
            Answer::Unknown if program.missing.is_empty() => advice.push(format!(
                "look from inside: {}; its last lines count what was intercepted",
                run(diagnosis, "--audit -o verbose=1 ")
            )),
            Answer::Unknown => advice.push("install the libraries that are not found, or set LD_LIBRARY_PATH".into()),
            Answer::All => advice.push(run(diagnosis, "")),
        }
    }
    advice
}

/// Without a program they are what was asked for; a program needs them if it opens them itself.
fn needs_libraries(examination: &Examination) -> bool {
    examination.program.as_ref().is_none_or(|program| !program.opens_verbs.is_empty())
}

/// What can be done where nothing is intercepted.
fn around(program: &examine::Examined) -> String {
    let obstacle = program.obstacle.as_deref().unwrap_or_default();
    if program.loader.is_none() {
        "build it with shared libibverbs and libmlx5".into()
    } else if obstacle.contains("raised rights") {
        "for a test, run a copy of it without the raised rights, as a user who has what it needs".into()
    } else {
        "run it where a 64-bit glibc of 2.34 or later loads it".into()
    }
}

/// The command line that runs the program guarded.
fn run(diagnosis: &Diagnosis, more: &str) -> String {
    let needs_audit = diagnosis.examination.entry_points.iter().any(|verdict| !verdict.looked_up.is_empty());
    let audit = if needs_audit && more.is_empty() { "--audit " } else { more };
    let command: Vec<String> = diagnosis.command.iter().map(|word| quoted(word)).collect();
    format!("verbsguard run {audit}-- {}", command.join(" "))
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
