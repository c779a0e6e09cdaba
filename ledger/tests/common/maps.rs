//! What a process has mapped.

use std::fs;
use std::path::Path;

/// How many files of a folder a process has mapped. A file that it made itself is mapped under a name that is gone.
pub fn mapped_in(dir: &Path, pid: u32) -> usize {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("our own child");
    maps.lines().filter(|line| line.contains(&*dir.to_string_lossy())).count()
}
