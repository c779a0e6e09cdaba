//! The C programs of `tests-c`.

use std::path::{Path, PathBuf};

use crate::expect::Expectation;
use crate::{Outcome, project};

/// A program and what it expects.
#[derive(Clone, Debug)]
pub struct Program {
    /// `misuse::null_argument`.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// What its first comment says.
    pub expectation: Expectation,
}

/// The folders whose programs the runner runs.
const FOLDERS: &[&str] = &["misuse", "legal", "options", "process", "across"];

/// Every program that the runner runs, by name.
pub fn all() -> Outcome<Vec<Program>> {
    let found = FOLDERS.iter().map(|folder| of(folder)).collect::<Outcome<Vec<_>>>()?;
    Ok(found.concat())
}

/// The programs of one folder, by name.
pub fn of(folder: &str) -> Outcome<Vec<Program>> {
    let path = project().join("tests-c").join(folder);
    let entries = std::fs::read_dir(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut programs = Vec::new();
    for entry in entries {
        let source = entry.map_err(|error| error.to_string())?.path();
        if source.extension().is_some_and(|extension| extension == "c") {
            programs.push(read(folder, &source)?);
        }
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

fn read(folder: &str, source: &Path) -> Outcome<Program> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let at = |error: String| format!("tests-c/{folder}/{stem}.c: {error}");
    let text = std::fs::read_to_string(source).map_err(|error| at(error.to_string()))?;
    let mut expectation = Expectation::parse(&text).map_err(at)?;
    if let Some(options) = &mut expectation.options {
        *options = options.replace("@DIR@", &source.parent().unwrap_or(source).to_string_lossy());
    }
    Ok(Program { name: format!("{folder}::{stem}"), source: source.into(), expectation })
}

/// A program of a folder whose programs are built and run in ways of their own.
#[derive(Clone, Debug)]
pub struct Special {
    /// Its file's name, without the ending.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// What its first comment says.
    pub expectation: Expectation,
    /// `links: NAME…`: is linked with these libraries.
    pub links: Vec<String>,
    text: String,
}

impl Special {
    /// Whether its first comment has this line.
    pub fn says(&self, line: &str) -> bool {
        self.text.contains(&format!("\n * {line}\n"))
    }
}

/// Those of `tests-c/FOLDER` that expect something, by name.
pub fn special(folder: &str) -> Outcome<Vec<Special>> {
    let path = project().join("tests-c").join(folder);
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(&path).map_err(at)? {
        let source = entry.map_err(at)?.path();
        let text = std::fs::read_to_string(&source).map_err(at)?;
        if !text.contains("\n * expect: ") {
            continue;
        }
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let expectation = Expectation::parse(&text).map_err(|error| format!("{name}: {error}"))?;
        let links = text.lines().find_map(|line| line.strip_prefix(" * links: ")).unwrap_or_default();
        let links = links.split_whitespace().map(|name| format!("-l{name}")).collect();
        programs.push(Special { name, source, expectation, links, text });
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    if programs.is_empty() { Err(format!("no programs in tests-c/{folder}")) } else { Ok(programs) }
}
