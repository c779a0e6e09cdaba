//! From a command to the ELF file that runs.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::elf::{Elf, Refused};

/// The kernel follows no more `#!` lines.
const MOST_SCRIPTS: usize = 5;

/// The program that a command starts.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The scripts that lead to it, the command first.
    pub scripts: Vec<PathBuf>,
    /// What is in it.
    pub kind: Kind,
    /// Why the loader will not listen to the environment.
    pub raised: Option<&'static str>,
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
pub fn resolve(command: &OsStr) -> Result<Program, String> {
    let mut path = find(command)?;
    let mut scripts = Vec::new();
    while let Some(interpreter) = interpreter(&path)? {
        scripts.push(path);
        if scripts.len() > MOST_SCRIPTS {
            return Err(format!("{}: its #! lines never end at a program", scripts[0].display()));
        }
        path = find(&interpreter).map_err(|error| format!("{}: its #! line: {error}", scripts[0].display()))?;
    }
    let kind = match Elf::read(&path) {
        Ok(elf) => Kind::Native(Box::new(elf)),
        Err(Refused::Foreign) => Kind::Foreign,
        Err(Refused::NotElf) => return Err(format!("{} is neither a program nor a script", path.display())),
        Err(Refused::Unreadable(why)) => return Err(format!("cannot read {}: {why}", path.display())),
    };
    Ok(Program { raised: raised(&path), path, scripts, kind })
}

/// As execvp(3) finds it.
fn find(command: &OsStr) -> Result<PathBuf, String> {
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
    let path = std::env::var_os("PATH").unwrap_or_default();
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
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    let nosuid = rustix::fs::StatVfsMountFlags::NOSUID;
    if rustix::fs::statvfs(path).is_ok_and(|system| system.f_flag.contains(nosuid)) {
        return None;
    }
    let has = |bits: u32| found.mode() & bits == bits;
    let mut none = [0_u8; 0];
    if has(0o4000) && found.uid() != uid.as_raw() {
        Some("setuid")
    } else if has(0o2010) && found.gid() != gid.as_raw() {
        Some("setgid")
    } else if !uid.is_root() && rustix::fs::getxattr(path, "security.capability", &mut none).is_ok() {
        Some("file capabilities")
    } else {
        None
    }
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
            let program = resolve(path.as_os_str());
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
        let error = resolve(path.as_os_str()).unwrap_err();
        let _ = std::fs::remove_file(&path);
        assert!(error.ends_with("never end at a program"), "{error}");
    }

    #[test]
    fn what_cannot_run_is_told() {
        let said = |command: &str| resolve(OsStr::new(command)).unwrap_err();
        assert_eq!(said("no-such-program-here"), "no-such-program-here: no such program in PATH");
        assert_eq!(said("/no/such"), "/no/such: No such file or directory (os error 2)");
        assert_eq!(said("/tmp"), "/tmp is a folder");
        assert_eq!(said("/etc/passwd"), "/etc/passwd is not executable");
    }
}
