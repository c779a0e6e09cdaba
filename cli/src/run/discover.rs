//! Which mlx5 provider belongs to the rdma-core that a program will load.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, elf};

const LIBRARY: &str = "libibverbs.so.1";

/// The program that a shell would run.
pub fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A value for IBV_DRIVERS. libibverbs looks for its providers where it was configured to; one that lies elsewhere, as
/// under a prefix, may have them in the folder `libibverbs` beside it, and appends its own suffix to this path.
pub fn driver(program: &Path, args: &[OsString]) -> Option<PathBuf> {
    let library = library_of(program, args).or_else(library_in_path)?;
    let folder = library.parent()?.join("libibverbs");
    let is_mlx5 = |name: &OsStr| name.as_encoded_bytes().starts_with(b"libmlx5-rdmav");
    let mut entries = fs::read_dir(&folder).ok()?.flatten();
    entries.any(|entry| is_mlx5(&entry.file_name())).then(|| folder.join("libmlx5"))
}

/// What the program's own loader says.
fn library_of(program: &Path, args: &[OsString]) -> Option<PathBuf> {
    let mut list = if is_loader(program) {
        let mut list = Command::new(program);
        list.arg("--list").args(args);
        list
    } else {
        let mut list = Command::new(interpreter(program)?);
        list.arg("--list").arg(program);
        list
    };
    list.env_remove("LD_PRELOAD").stdin(Stdio::null()).stderr(Stdio::null());
    let listed = list.output().ok()?.stdout;
    let listed = String::from_utf8_lossy(&listed);
    listed.lines().find_map(|line| {
        let path = line.trim_start().strip_prefix(LIBRARY)?.strip_prefix(" => ")?;
        Some(PathBuf::from(path.rsplit_once(" (").map_or(path, |(path, _)| path)))
    })
}

/// Programs that a loader is told to run.
fn is_loader(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-linux"))
}

/// The loader that a dynamic executable asks for. Nothing else is run: `--list` would not keep it from its work.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(program).ok()?);
    let header = elf::FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, &cache).ok()?;
    let path = headers.iter().find_map(|one| one.interpreter(endian, &cache).ok().flatten())?;
    Some(PathBuf::from(std::str::from_utf8(path).ok()?))
}

/// Shells, launchers and programs that use dlopen do not name it.
fn library_in_path() -> Option<PathBuf> {
    let folders = env::var_os("LD_LIBRARY_PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(LIBRARY)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_this_test_is_a_loader() {
        let interpreter = interpreter(&env::current_exe().unwrap()).unwrap();
        assert!(is_loader(&interpreter), "{interpreter:?}");
        assert!(!is_loader(Path::new("/bin/sh")));
    }

    #[test]
    fn a_script_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "#!/bin/sh\n").unwrap();
        assert_eq!(interpreter(file.path()), None);
    }
}
