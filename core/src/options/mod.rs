//! What a user asked for: `VERBSGUARD_OPTIONS`, the program's own defaults, and included files.

mod help;
mod keys;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use wildmatch::WildMatch;

use crate::rules::{Rule, Severity};

pub use help::{help, manual};
pub use keys::{KEYS, Key};

/// The most frames that `stack` may ask for.
pub const MAX_STACK: usize = 128;

/// What happens to a call with an error finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Refused only where forwarding would touch memory that is not the object's any more.
    #[default]
    Guard,
    /// Always forwarded.
    Observe,
    /// Always refused.
    Strict,
    /// Reported, then `abort()`.
    Abort,
}

impl Mode {
    /// The word that the option and the reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Guard => "guard",
            Mode::Observe => "observe",
            Mode::Strict => "strict",
            Mode::Abort => "abort",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What the leak report counts as findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaks {
    /// What no one can release any more.
    #[default]
    Lost,
    /// Also what the kernel reclaims at exit.
    All,
    /// Nothing.
    Off,
}

/// Where reports go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Log {
    /// Standard error.
    #[default]
    Stderr,
    /// A path pattern; [`crate::report::expand`] makes a path of it.
    Path(String),
}

/// What reports look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// JSON Lines.
    Json,
}

/// Where the ledger lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ledger {
    /// This user's own folder under /dev/shm.
    #[default]
    Auto,
    /// Only this process is seen.
    Off,
    /// A folder.
    Dir(PathBuf),
}

/// Everything a user can ask for. [`Options::default`] is what holds where nothing is said.
#[derive(Clone, Debug)]
pub struct Options {
    /// `mode`
    pub mode: Mode,
    /// `leaks`
    pub leaks: Leaks,
    /// `exitcode`: exit status of a program that ended with 0 and had an error finding; 0 leaves it alone.
    pub exitcode: u8,
    /// `log`
    pub log: Log,
    /// `format`
    pub format: Format,
    /// `ledger`
    pub ledger: Ledger,
    /// `stack`: frames kept per event; 0 keeps the caller only.
    pub stack: usize,
    /// `limit`: repeats printed per rule and call site; 0 is no limit.
    pub limit: u64,
    /// `suppressions`
    pub suppressions: Option<PathBuf>,
    /// `libibverbs`
    pub libibverbs: Option<PathBuf>,
    /// `libmlx5`
    pub libmlx5: Option<PathBuf>,
    /// `verbose`
    pub verbose: bool,
    /// `disable`
    pub disable: Vec<Rule>,
    /// `severity`
    pub severity: Vec<(Rule, Severity)>,
    /// `break`: SIGTRAP at an error finding.
    pub breakpoint: bool,
    /// `gen_suppressions`
    pub gen_suppressions: bool,
    /// `only`: globs of command names; empty is every program.
    pub only: Vec<WildMatch>,
    /// `dump_signal`: a signal number.
    pub dump_signal: Option<i32>,
    /// `help`
    pub help: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::default(),
            leaks: Leaks::default(),
            exitcode: 0,
            log: Log::default(),
            format: Format::default(),
            ledger: Ledger::default(),
            stack: 16,
            limit: 10,
            suppressions: None,
            libibverbs: None,
            libmlx5: None,
            verbose: false,
            disable: Vec::new(),
            severity: Vec::new(),
            breakpoint: false,
            gen_suppressions: false,
            only: Vec::new(),
            dump_signal: None,
            help: false,
        }
    }
}

impl Options {
    /// The severity that a finding of this rule has here, where the check gave it `judged`; `None` where it is disabled.
    pub fn severity_of(&self, rule: Rule, judged: Severity) -> Option<Severity> {
        if self.disable.contains(&rule) {
            return None;
        }
        let asked = self.severity.iter().rev().find(|(of, _)| *of == rule);
        Some(asked.map_or(judged, |(_, severity)| *severity))
    }

    /// Whether the guard does more than forward in a program of this command name.
    pub fn covers(&self, comm: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|glob| glob.matches(comm))
    }
}
