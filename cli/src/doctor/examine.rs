//! From a command to all that is known about it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use verbsguard_core::options::Options;

use super::elf::Elf;
use super::loader::{self, Answer};
use super::program::{Kind, Loader, PRIVATE, Program, resolve};
use super::verdict::{EntryPoint, Facts, Verdict, verbs_library};
use crate::run::install;

/// What is preloaded.
pub const GUARD: &str = "libverbsguard.so.0";

/// What answers look-ups by name.
pub const AUDITOR: &str = "libverbsguard-audit.so";

/// The first glibc with which an auditor costs nothing at a program's calls.
const AUDITABLE: &str = "GLIBC_2.35";

/// The real libraries, by soname.
const SONAMES: [&str; 2] = ["libibverbs.so.1", "libmlx5.so.1"];

/// A real library.
#[derive(Debug, Serialize)]
pub struct Library {
    /// "libibverbs" or "libmlx5".
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// The rdma-core that it is of, where its file name tells.
    pub rdma_core: Option<u32>,
}

/// The program that was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Examined {
    /// Its file.
    pub path: PathBuf,
    /// The scripts that lead to it.
    pub scripts: Vec<PathBuf>,
    /// Its loader; None for a static program.
    pub loader: Option<PathBuf>,
    /// The version of its C library.
    pub glibc: Option<String>,
    /// Libraries that it needs and that are not there.
    pub missing: Vec<String>,
    /// Why nothing at all can be intercepted.
    pub obstacle: Option<String>,
    /// Who opens libraries by name, so that more may come than is seen here.
    pub opens: Vec<PathBuf>,
    /// Who starts other programs.
    pub starts: Vec<PathBuf>,
    /// Who opens rdma-core by name.
    pub opens_verbs: Vec<PathBuf>,
    /// Who holds a copy of libibverbs inside.
    pub hidden_copies: Vec<PathBuf>,
}

/// All that was found.
#[derive(Debug, Serialize)]
pub struct Examination {
    /// The guard.
    pub guard: PathBuf,
    /// The auditor.
    pub auditor: PathBuf,
    /// None where no command was given.
    pub program: Option<Examined>,
    /// The real libraries; several of a name where a program brings copies along.
    pub libraries: Vec<Library>,
    /// Each entry point's fate.
    pub entry_points: Vec<Verdict>,
}

/// Looks at a command, or without one at this machine. An error is one line for people.
pub fn examine(command: &[OsString], options: &Options) -> Result<Examination, String> {
    let guard = install::library(GUARD)?;
    let auditor = install::library(AUDITOR)?;
    let own = || std::env::current_exe().map_err(|error| format!("cannot find my own file: {error}"));
    let program = if command.is_empty() { resolve(&[own()?.into()])? } else { resolve(command)? };
    let loader = program.loader.clone();
    let (examined, mut facts, answer) = look_at(program, &guard)?;
    let mut libraries = libraries(&answer);
    if let Some(loader) = loader.filter(|_| examined.obstacle.is_none()) {
        find_others(&mut libraries, &loader, &examined.path, options)?;
    }
    for library in &libraries {
        if let Ok(elf) = Elf::read(&library.path) {
            facts.real.entry(library.name).or_insert(elf.exports);
        }
    }
    let entry_points = entry_points(&guard)?.iter().map(|entry| facts.verdict(entry)).collect();
    let program = (!command.is_empty()).then_some(examined);
    Ok(Examination { guard, auditor, program, libraries, entry_points })
}

/// Whether a command is to have the auditor.
#[derive(Debug, PartialEq, Eq)]
pub enum Audit {
    /// It looks verbs up by name, or may.
    Wanted,
    /// All that it calls is linked, or nothing helps.
    Needless,
    /// It looks verbs up by name, and the auditor cannot answer: why.
    Impossible(String),
}

/// Whether a command is to have the auditor. What cannot be looked at is left as it is: running it will tell.
pub fn audit(command: &[OsString]) -> Audit {
    let looked = install::library(GUARD).and_then(|guard| look_at(resolve(command)?, &guard));
    looked.map_or(Audit::Needless, |(examined, facts, _)| wanted(&examined, facts))
}

fn wanted(examined: &Examined, facts: Facts) -> Audit {
    let in_sight = facts.askers().next().is_some() || !examined.opens_verbs.is_empty();
    match facts.no_audit {
        _ if examined.obstacle.is_some() => Audit::Needless,
        Some(why) if in_sight => Audit::Impossible(why),
        // A shell or a launcher: what it starts has its environment.
        None if in_sight || facts.bindings.is_empty() => Audit::Wanted,
        _ => Audit::Needless,
    }
}

/// What libibverbs, the C library and the guard open and start is nobody else's business.
fn is_system(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    verbs_library(path).is_some() || name.starts_with("libc.so") || name.starts_with("libverbsguard")
}

/// What the guard stands before, as its own symbol table says.
fn entry_points(guard: &Path) -> Result<Vec<EntryPoint>, String> {
    let elf = Elf::read(guard).map_err(|_| format!("cannot read {}: build or install anew", guard.display()))?;
    let points: Vec<_> = elf.exports.into_iter().map(|(name, node)| EntryPoint { name, node }).collect();
    if points.is_empty() { Err(format!("{} stands before nothing: build anew", guard.display())) } else { Ok(points) }
}

/// Reads a program and what it starts with.
fn look_at(program: Program, guard: &Path) -> Result<(Examined, Facts, Answer), String> {
    let Program { path, scripts, kind, raised, loader } = program;
    let mut examined = Examined { path, scripts, ..Examined::default() };
    let mut facts = Facts { guard: guard.to_owned(), ..Facts::default() };
    let Kind::Native(elf) = kind else {
        examined.obstacle = Some("it is for another kind of machine than the guard".into());
        return Ok((examined, facts, Answer::default()));
    };
    facts.objects.insert(examined.path.clone(), *elf);
    let answer = match loader {
        Some(loader) => ask_loader(&loader, &mut facts, &mut examined)?,
        None => {
            examined.obstacle = Some("it is static: nothing can be put before what is linked into it".into());
            Answer::default()
        }
    };
    if let Some(raised) = raised {
        examined.obstacle =
            Some(format!("it has raised rights ({raised}): its loader ignores LD_PRELOAD and LD_AUDIT"));
    }
    facts.obstacle.clone_from(&examined.obstacle);
    examined.hidden_copies = facts.hidden_copies().cloned().collect();
    examined.opens_verbs = facts.openers().cloned().collect();
    let others = || facts.objects.iter().filter(|(path, _)| !is_system(path));
    examined.opens = others().filter(|(_, elf)| elf.opens).map(|(path, _)| path.clone()).collect();
    examined.starts = others().filter(|(_, elf)| elf.starts).map(|(path, _)| path.clone()).collect();
    Ok((examined, facts, answer))
}

fn ask_loader(loader: &Loader, facts: &mut Facts, examined: &mut Examined) -> Result<Answer, String> {
    let rtld = Elf::read(&loader.path).map_err(|_| format!("cannot read its loader {}", loader.path.display()))?;
    examined.loader = Some(loader.path.clone());
    if !rtld.nodes.contains(PRIVATE) {
        examined.obstacle = Some(format!("its loader {} is not glibc's", loader.path.display()));
        return Ok(Answer::default());
    }
    let answer = loader::ask(loader, &examined.path, &[&facts.guard])?;
    examined.missing.clone_from(&answer.missing);
    take_answer(&answer, facts, examined);
    facts.no_audit = no_audit(examined, &rtld);
    Ok(answer)
}

fn no_audit(examined: &Examined, loader: &Elf) -> Option<String> {
    let glibc = examined.glibc.as_deref().unwrap_or("of an unknown version");
    (!loader.nodes.contains(AUDITABLE)).then(|| format!("its glibc {glibc} is too old for the auditor (needs 2.35)"))
}

fn take_answer(answer: &Answer, facts: &mut Facts, examined: &mut Examined) {
    facts.bindings.clone_from(&answer.bindings);
    for path in &answer.libraries {
        let Ok(elf) = Elf::read(path) else { continue };
        if path.file_name().is_some_and(|name| name == "libc.so.6") {
            examined.glibc = newest_glibc(&elf);
        }
        facts.objects.insert(path.clone(), elf);
    }
    if !answer.libraries.contains(&facts.guard) {
        let why = answer.complaints.iter().find(|complaint| complaint.contains("libverbsguard"));
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        examined.obstacle = Some(format!("its loader does not load the guard{why}"));
    }
}

/// The newest of the C library's version nodes.
fn newest_glibc(elf: &Elf) -> Option<String> {
    let number = |node: &String| {
        let (major, minor) = node.strip_prefix("GLIBC_")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let (major, minor) = elf.nodes.iter().filter_map(number).max()?;
    Some(format!("{major}.{minor}"))
}

/// The real libraries that a program starts with.
fn libraries(answer: &Answer) -> Vec<Library> {
    let library = |path: &PathBuf| {
        let name = verbs_library(path)?;
        let path = path.canonicalize().ok()?;
        Some(Library { name, rdma_core: rdma_core(&path), path })
    };
    answer.libraries.iter().filter_map(library).collect()
}

/// Those that it would find if it opened them, or that the options name.
fn find_others(found: &mut Vec<Library>, loader: &Loader, program: &Path, options: &Options) -> Result<(), String> {
    let chosen = [&options.libibverbs, &options.libmlx5];
    for (soname, chosen) in SONAMES.into_iter().zip(chosen) {
        let path = chosen.as_deref().unwrap_or(Path::new(soname));
        let name = verbs_library(Path::new(soname)).unwrap_or(soname);
        if chosen.is_none() && found.iter().any(|library| library.name == name) {
            continue;
        }
        let answer = loader::ask(loader, program, &[path])?;
        let found_now = libraries(&answer).into_iter().find(|library| library.name == name);
        found.retain(|library| chosen.is_none() || library.name != name);
        found.extend(found_now);
    }
    Ok(())
}

/// `libibverbs.so.1.14.44.0` is rdma-core 44's.
fn rdma_core(path: &Path) -> Option<u32> {
    let (_, version) = path.file_name()?.to_str()?.split_once(".so.")?;
    version.split('.').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_off_file_names() {
        assert_eq!(rdma_core(Path::new("/l/libibverbs.so.1.14.44.0")), Some(44));
        assert_eq!(rdma_core(Path::new("/w/libmlx5-39d9eaa1.so.1.24.50.0")), Some(50));
        assert_eq!(rdma_core(Path::new("/l/libibverbs.so.1")), None);
    }

    #[test]
    fn the_newest_glibc_is_the_highest_number() {
        let nodes = ["GLIBC_2.9", "GLIBC_2.36", "GLIBC_2.4", "GLIBC_PRIVATE"].map(str::to_owned).into();
        assert_eq!(newest_glibc(&Elf { nodes, ..Elf::default() }), Some("2.36".into()));
    }
}
