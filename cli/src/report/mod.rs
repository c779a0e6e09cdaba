//! `verbsguard report`: one report from the logs and ledgers of many processes.

mod html;
mod ledgers;
mod logs;
mod merge;
mod perfetto;
mod sarif;
mod text;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use verbsguard_core::ledger::FileId;

use merge::{Merged, Timeline};

/// Merges the logs and ledgers of many processes, also of ones that were killed, into one report: findings, and one
/// table of leaks by the place where the objects were made.
#[derive(Debug, Args)]
pub struct Report {
    /// JSON logs, ledger directories, or folders of logs
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// JSON Lines: one a rule and place, and one with the totals
    Json,
    /// One page that needs nothing else
    Html,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// A time line for ui.perfetto.dev and chrome://tracing
    Perfetto,
}

/// Something to read.
enum Source {
    Log(PathBuf),
    Ledger(PathBuf),
}

impl Report {
    /// Reads everything, then prints.
    pub fn run(&self) -> io::Result<()> {
        let mut sources = Vec::new();
        for path in &self.paths {
            collect(path, &mut sources).map_err(|error| named(path, &error))?;
        }
        let timeline = (self.format == Format::Perfetto).then(Timeline::default);
        let mut merged = Merged { timeline, ..Merged::default() };
        let beside_logs = sources.iter().any(|source| matches!(source, Source::Log(_)));
        let mut progress = Progress::new(sources.len());
        for source in &sources {
            match source {
                Source::Log(path) => {
                    logs::read(path, &mut merged, &mut progress).map_err(|error| named(path, &error))?
                }
                Source::Ledger(path) => ledgers::read(path, &mut merged, beside_logs),
            }
            progress.next();
        }
        progress.end();
        let text = match self.format {
            Format::Text => text::render(&merged),
            Format::Json => merged.json()?,
            Format::Html => html::render(&merged),
            Format::Sarif => sarif::render(&merged)?,
            Format::Perfetto => perfetto::render(&merged)?,
        };
        io::stdout().lock().write_all(text.as_bytes())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
}

/// A file is a log; a folder is a ledger, a device file's part of one, or full of logs.
fn collect(path: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        sources.push(Source::Log(path.to_owned()));
        return Ok(());
    }
    if is_device_file(path) {
        sources.push(Source::Ledger(path.to_owned()));
        return Ok(());
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
    inside.sort_unstable();
    for path in inside {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => sources.push(Source::Log(path)),
            Ok(found) if found.is_dir() && is_device_file(&path) => sources.push(Source::Ledger(path)),
            _ => {}
        }
    }
    Ok(())
}

fn is_device_file(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<FileId>().is_ok())
}

/// A line on the terminal that says how far a long merge is.
struct Progress {
    sources: usize,
    done: usize,
    bytes: u64,
    shown: Option<Instant>,
    began: Instant,
}

/// A merge that is shorter needs no progress.
const LONG: Duration = Duration::from_secs(1);

impl Progress {
    fn new(sources: usize) -> Self {
        Progress { sources, done: 0, bytes: 0, shown: None, began: Instant::now() }
    }

    fn bytes(&mut self, more: u64) {
        self.bytes += more;
        let since = self.shown.unwrap_or(self.began).elapsed();
        let due = if self.shown.is_some() { Duration::from_millis(200) } else { LONG };
        if since > due && io::stderr().is_terminal() {
            self.shown = Some(Instant::now());
            let megabytes = self.bytes >> 20;
            eprint!("\rmerging: {} of {} files, {megabytes} MiB", self.done, self.sources);
        }
    }

    fn next(&mut self) {
        self.done += 1;
        self.bytes(0);
    }

    fn end(&self) {
        if self.shown.is_some() {
            eprintln!("\r\x1b[K");
        }
    }
}
