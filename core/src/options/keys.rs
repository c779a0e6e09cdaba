//! The one table of option keys: the parser, `help=1` and the manual page are made from it.

use std::path::PathBuf;
use std::str::FromStr;

use wildmatch::WildMatch;

use super::{Format, Leaks, Ledger, Log, MAX_STACK, Mode, Options};
use crate::rules::{Rule, Severity};

/// One key of `VERBSGUARD_OPTIONS`.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The values, the default first.
    pub values: &'static str,
    /// What it does, in sentences.
    pub help: &'static str,
    pub(super) set: fn(&mut Options, &str) -> Result<(), String>,
}

/// Every key, in the order in which help shows them.
pub const KEYS: &[Key] = &[
    Key {
        name: "mode",
        values: "guard, observe, strict, abort",
        help: "What happens to a call with an error finding. guard: it is refused only where the real library would \
               read or free memory that is not the object's any more, or dereference NULL; observe: it is always \
               forwarded; strict: it is refused; abort: the finding is reported, then the program aborts.",
        set: |options, value| {
            let modes = [Mode::Guard, Mode::Observe, Mode::Strict, Mode::Abort].map(|mode| (mode.word(), mode));
            put(&mut options.mode, word(value, &modes))
        },
    },
    Key {
        name: "leaks",
        values: "lost, all, off",
        help: "What the leak report counts as findings. lost: what nobody can release any more; all: also what the \
               kernel takes back at exit; off: nothing.",
        set: |options, value| {
            let leaks = [("lost", Leaks::Lost), ("all", Leaks::All), ("off", Leaks::Off)];
            put(&mut options.leaks, word(value, &leaks))
        },
    },
    Key {
        name: "exitcode",
        values: "0 (23 under verbsguard run), or a number to 255",
        help: "Exit status of a program that itself ends with 0 and in which there was an error finding. 0 leaves the \
               status alone. A program that ends by _exit keeps its status.",
        set: |options, value| put(&mut options.exitcode, number(value, 255)),
    },
    Key {
        name: "log",
        values: "stderr, or a path",
        help: "Where reports go. In a path, %p stands for the process id, %h for the host, %c for the command name, \
               %r for the rank in the job (PMIX_RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID or PMI_RANK), %% for %. \
               Many processes may write one file.",
        set: |options, value| put(&mut options.log, log(value)),
    },
    Key {
        name: "format",
        values: "text, json",
        help: "What reports look like: text for people, or JSON Lines.",
        set: |options, value| put(&mut options.format, word(value, &[("text", Format::Text), ("json", Format::Json)])),
    },
    Key {
        name: "ledger",
        values: "auto, off, or a folder",
        help: "Where the processes of this host write down who holds what. auto: /dev/shm/verbsguard-UID; off: only \
               this process is seen.",
        set: |options, value| {
            options.ledger = match value {
                "auto" => Ledger::Auto,
                "off" => Ledger::Off,
                _ => Ledger::Dir(path(value)?),
            };
            Ok(())
        },
    },
    Key {
        name: "stack",
        values: "16, or a number to 128",
        help: "Frames kept of each event's stack. 0 keeps the caller only.",
        set: |options, value| put(&mut options.stack, number(value, MAX_STACK)),
    },
    Key {
        name: "limit",
        values: "10, or a number",
        help: "How many findings of one rule at one call site are printed. 0 is no limit. Counting never stops.",
        set: |options, value| put(&mut options.limit, number(value, u64::MAX)),
    },
    Key {
        name: "suppressions",
        values: "a file",
        help: "Findings that are not to be reported: a line RULE:GLOB[:GLOB...] each. RULE is a rule's id or a glob of \
               ids; each GLOB must match a module, a function or an object's name in the finding's stacks. Lines that \
               start with # are comments.",
        set: |options, value| put_some(&mut options.suppressions, path(value)),
    },
    Key {
        name: "libibverbs",
        values: "a path",
        help: "The libibverbs to call where neither a call's context nor its caller tells of one.",
        set: |options, value| put_some(&mut options.libibverbs, path(value)),
    },
    Key {
        name: "libmlx5",
        values: "a path",
        help: "The libmlx5 to call where neither a call's context nor its caller tells of one.",
        set: |options, value| put_some(&mut options.libmlx5, path(value)),
    },
    Key {
        name: "backport",
        values: "0, 1",
        help: "Offer export, import and unimport of UMEMs on providers older than rdma-core 63.",
        set: |_, value| later(switch(value)),
    },
    Key {
        name: "coordinate",
        values: "off, defer",
        help: "defer: a destroy by one holder while others hold live references is put off until the last of them is \
               done.",
        set: |_, value| later(word(value, &[("off", false), ("defer", true)])),
    },
    Key {
        name: "verbose",
        values: "0, 1",
        help: "Also print notes, the real libraries, the calls that are watched, and counts at exit.",
        set: |options, value| put(&mut options.verbose, switch(value)),
    },
    Key {
        name: "disable",
        values: "RULE,RULE...",
        help: "Rules that are not to fire at all; their calls are forwarded.",
        set: |options, value| list(value, &mut options.disable, Rule::from_str),
    },
    Key {
        name: "severity",
        values: "RULE=note,RULE=warning,RULE=error...",
        help: "Another severity for a rule. What guard mode refuses stays the same.",
        set: |options, value| list(value, &mut options.severity, rule_severity),
    },
    Key {
        name: "break",
        values: "0, 1",
        help: "Raise SIGTRAP at an error finding, for a debugger. verbsguard_on_error is a symbol for a breakpoint.",
        set: |options, value| put(&mut options.breakpoint, switch(value)),
    },
    Key {
        name: "gen_suppressions",
        values: "0, 1",
        help: "Print under each finding the line that would suppress it, and at exit which suppressions were used.",
        set: |options, value| put(&mut options.gen_suppressions, switch(value)),
    },
    Key {
        name: "only",
        values: "GLOB,GLOB...",
        help: "Command names of the programs to guard. In others (shells, launchers) every call is only forwarded.",
        set: |options, value| list(value, &mut options.only, |glob| Ok(WildMatch::new(glob))),
    },
    Key {
        name: "include",
        values: "a file",
        help: "Read more options from a file, one KEY=VALUE a line. Lines that start with # are comments.",
        // Reading a file is the parser's work.
        set: |_, _| Ok(()),
    },
    Key {
        name: "dump_signal",
        values: "a signal's name",
        help: "Print the live objects when this signal comes, for instance USR2.",
        set: |options, value| put_some(&mut options.dump_signal, signal(value)),
    },
    Key {
        name: "help",
        values: "0, 1",
        help: "Print this list.",
        set: |options, value| put(&mut options.help, switch(value)),
    },
];

fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

fn put_some<T>(field: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *field = Some(value?);
    Ok(())
}

/// For what is promised and not built: asking for it is told, and changes nothing.
fn later(value: Result<bool, String>) -> Result<(), String> {
    if value? { Err("not available in this version; it is left off".into()) } else { Ok(()) }
}

fn word<T: Copy>(value: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("'{value}' is none of {}", words.join(", "))
    })
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "0" | "no" | "false" => Ok(false),
        "1" | "yes" | "true" => Ok(true),
        _ => Err(format!("'{value}' is neither 0 nor 1")),
    }
}

fn number<T: FromStr + PartialOrd + std::fmt::Display>(value: &str, max: T) -> Result<T, String> {
    match value.parse() {
        Ok(number) if number <= max => Ok(number),
        _ => Err(format!("'{value}' is no number from 0 to {max}")),
    }
}

fn path(value: &str) -> Result<PathBuf, String> {
    if value.is_empty() { Err("no path given".into()) } else { Ok(value.into()) }
}

fn log(value: &str) -> Result<Log, String> {
    if value == "stderr" {
        return Ok(Log::Stderr);
    }
    path(value)?;
    crate::report::check_pattern(value)?;
    Ok(Log::Path(value.into()))
}

/// Takes what is good of a comma list, and tells the first that is not.
fn list<T>(value: &str, field: &mut Vec<T>, item: fn(&str) -> Result<T, String>) -> Result<(), String> {
    let items = value.split(',').map(str::trim).filter(|text| !text.is_empty()).map(item);
    let (good, bad): (Vec<_>, Vec<_>) = items.partition(Result::is_ok);
    *field = good.into_iter().flatten().collect();
    bad.into_iter().next().map_or(Ok(()), |first| first.map(drop))
}

fn rule_severity(text: &str) -> Result<(Rule, Severity), String> {
    let (rule, severity) = text.split_once('=').ok_or_else(|| format!("'{text}' is not of the form RULE=SEVERITY"))?;
    Ok((rule.parse()?, severity.parse()?))
}

fn signal(value: &str) -> Result<i32, String> {
    // Only what a program survives when the guard takes it, and what nobody sends for other ends.
    let signals = [
        ("HUP", libc::SIGHUP),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
        ("PWR", libc::SIGPWR),
        ("IO", libc::SIGIO),
        ("URG", libc::SIGURG),
        ("WINCH", libc::SIGWINCH),
        ("QUIT", libc::SIGQUIT),
    ];
    word(value.strip_prefix("SIG").unwrap_or(value), &signals)
}
