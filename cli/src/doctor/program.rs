//! From a command to the ELF file that runs.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getgid, getuid};

use super::elf::{Elf, Refused};

/// The kernel follows no more `#!` lines.
const MOST_SCRIPTS: usize = 5;

/// A version node that only glibc's own parts have.
pub const PRIVATE: &str = "GLIBC_PRIVATE";

/// The options of glibc's loader that take the next word as their value.
const WITH_VALUE: [&str; 7] = [
    "--argv0",
    "--audit",
    "--glibc-hwcaps-mask",
    "--glibc-hwcaps-prepend",
    "--inhibit-rpath",
    "--library-path",
    "--preload",
];

/// The program that a command starts.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The scripts that lead to it, the command first.
    pub scripts: Vec<PathBuf>,
    /// What is in it.
    pub kind: Kind,
    /// What loads it; None where it is static, or foreign.
    pub loader: Option<Loader>,
    /// Why the loader will not listen to the environment.
    pub raised: Option<&'static str>,
}

/// A dynamic loader, and what it is told before the program's name (`ld.so --library-path DIR ./app`).
#[derive(Clone, Debug, Default)]
pub struct Loader {
    /// Its file.
    pub path: PathBuf,
    /// Its options.
    pub options: Vec<OsString>,
}

/// What a program file is.
#[derive(Debug)]
pub enum Kind {
    /// For this machine.
    Native(Box<Elf>),
    /// For another.
    Foreign,
}

/// Finds the program behind a command. An error is one line for people.
pub fn resolve(command: &[OsString]) -> Result<Program, String> {
    let (first, rest) = command.split_first().ok_or("no command")?;
    let (path, scripts) = follow(first)?;
    let kind = read(&path)?;
    match &kind {
        Kind::Native(elf) if elf.interpreter.is_none() && elf.nodes.contains(PRIVATE) => loaded_by(path, rest),
        Kind::Native(elf) => {
            let loader = elf.interpreter.clone().map(|path| Loader { path, options: Vec::new() });
            Ok(Program { raised: raised(&path), path, scripts, kind, loader })
        }
        Kind::Foreign => Ok(Program { path, scripts, kind, loader: None, raised: None }),
    }
}

/// A program that is given to a loader, and so has its caller's rights only.
fn loaded_by(loader: PathBuf, rest: &[OsString]) -> Result<Program, String> {
    let mut words = rest.iter();
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        if !word.as_bytes().starts_with(b"--") {
            let path = std::path::absolute(word).map_err(|error| format!("{}: {error}", word.display()))?;
            let loader = Some(Loader { path: loader, options });
            return Ok(Program { kind: read(&path)?, path, scripts: Vec::new(), loader, raised: None });
        }
        options.push(word.clone());
        if WITH_VALUE.iter().any(|option| word == option) {
            options.extend(words.next().cloned());
        }
    }
    Err(format!("{} is a loader: name the program that it is to load", loader.display()))
}

/// Through `#!` lines to what is no script.
fn follow(command: &OsStr) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let mut path = find(command)?;
    let mut scripts = Vec::new();
    while let Some(interpreter) = interpreter(&path)? {
        scripts.push(path);
        if scripts.len() > MOST_SCRIPTS {
            return Err(format!("{}: its #! lines never end at a program", scripts[0].display()));
        }
        path = find(&interpreter).map_err(|error| format!("{}: its #! line: {error}", scripts[0].display()))?;
    }
    Ok((path, scripts))
}

fn read(path: &Path) -> Result<Kind, String> {
    match Elf::read(path) {
        Ok(elf) => Ok(Kind::Native(Box::new(elf))),
        Err(Refused::Foreign) => Ok(Kind::Foreign),
        Err(Refused::NotElf) => Err(format!("{} is neither a program nor a script", path.display())),
        Err(Refused::Unreadable(why)) => Err(format!("cannot read {}: {why}", path.display())),
    }
}

/// As execvp(3) finds it. An error is one line for people.
pub fn find(command: &OsStr) -> Result<PathBuf, String> {
    let name = command.display();
    if command.as_bytes().contains(&b'/') {
        let path = std::path::absolute(command).map_err(|error| format!("{name}: {error}"))?;
        return match path.metadata() {
            Ok(found) if is_program(&found) => Ok(path),
            Ok(found) if found.is_dir() => Err(format!("{name} is a folder")),
            Ok(_) => Err(format!("{name} is not executable")),
            Err(error) => Err(format!("{name}: {error}")),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let here = |folder: PathBuf| std::path::absolute(folder.join(command)).ok();
    let mut found = std::env::split_paths(&path).filter_map(here);
    found
        .find(|path| path.metadata().is_ok_and(|found| is_program(&found)))
        .ok_or_else(|| format!("{name}: no such program in PATH"))
}

fn is_program(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

/// What a script's `#!` line starts; /usr/bin/env is followed to what it starts itself.
fn interpreter(path: &Path) -> Result<Option<OsString>, String> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Some(line) = head.strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Err(format!("{}: its #! line names nothing", path.display())) };
    let env = Path::new(OsStr::from_bytes(first)).file_name() == Some(OsStr::new("env"));
    let started = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    let chosen = started.filter(|_| env).unwrap_or(first);
    Ok(Some(OsString::from_vec(chosen.to_vec())))
}

/// Whether the program will run with more rights than its caller has (AT_SECURE).
fn raised(path: &Path) -> Option<&'static str> {
    let found = path.metadata().ok()?;
    let (uid, gid) = (getuid(), getgid());
    if statvfs(path).is_ok_and(|system| system.flags().contains(FsFlags::ST_NOSUID)) {
        return None;
    }
    let has = |bits: u32| found.mode() & bits == bits;
    if has(0o4000) && found.uid() != uid.as_raw() {
        Some("setuid")
    } else if has(0o2010) && found.gid() != gid.as_raw() {
        Some("setgid")
    } else if !uid.is_root() && has_capabilities(path) {
        Some("file capabilities")
    } else {
        None
    }
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let name = c"security.capability";
    // SAFETY: two strings, and no room for the value: only its size is asked for.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, line: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("verbsguard-doctor-{}-{name}", std::process::id()));
        std::fs::write(&path, line).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn scripts_lead_to_their_interpreters() {
        for (name, line, wanted) in [
            ("sh", "#!/bin/sh\n", "/bin/sh"),
            ("space", "#! /bin/sh -e\n", "/bin/sh"),
            ("env", "#!/usr/bin/env -S A=1 sh -e\n", "/sh"),
        ] {
            let path = script(name, line);
            let program = resolve(&[path.clone().into()]);
            let _ = std::fs::remove_file(&path);
            let program = program.unwrap();
            assert!(program.path.to_string_lossy().ends_with(wanted), "{line} leads to {}", program.path.display());
            assert_eq!(program.scripts, [path]);
        }
    }

    #[test]
    fn a_script_that_leads_to_itself_ends() {
        let path = std::env::temp_dir().join(format!("verbsguard-doctor-{}-loop", std::process::id()));
        let path = script("loop", &format!("#!{}\n", path.display()));
        let error = resolve(&[path.clone().into()]).unwrap_err();
        let _ = std::fs::remove_file(&path);
        assert!(error.ends_with("never end at a program"), "{error}");
    }

    #[test]
    fn what_cannot_run_is_told() {
        let said = |command: &str| resolve(&[command.into()]).unwrap_err();
        assert_eq!(said("no-such-program-here"), "no-such-program-here: no such program in PATH");
        assert_eq!(said("/no/such"), "/no/such: No such file or directory (os error 2)");
        assert_eq!(said("/tmp"), "/tmp is a folder");
        assert_eq!(said("/etc/passwd"), "/etc/passwd is not executable");
    }

    #[test]
    fn a_loader_leads_to_what_it_loads() {
        let own = std::env::current_exe().unwrap();
        let Kind::Native(elf) = resolve(&[own.clone().into()]).unwrap().kind else { panic!("no ELF file") };
        let loader = elf.interpreter.unwrap();
        let command = [loader.as_os_str(), OsStr::new("--library-path"), OsStr::new("/x"), own.as_os_str()];
        let program = resolve(&command.map(OsString::from)).unwrap();
        let found = program.loader.unwrap();
        assert_eq!((program.path, found.path), (own, loader.clone()));
        assert_eq!(found.options, ["--library-path", "/x"]);
        let error = resolve(&[loader.into(), "--list".into()]).unwrap_err();
        assert!(error.ends_with("name the program that it is to load"), "{error}");
    }
}
