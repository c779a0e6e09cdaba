//! Looking for processes that hold a device file.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::Path;
use std::{fs, io};

use verbsguard_core::ledger::FileId;

use crate::{identity, sys};

/// A process that has a descriptor of the device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Process id, in this process's namespace.
    pub pid: u32,
    /// The guard is loaded there, so what it does is told.
    pub guarded: bool,
}

/// What a look through /proc found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// The processes that have it, this one left out.
    pub holders: Vec<Sighting>,
    /// How many processes could not be looked into for want of rights.
    pub hidden: usize,
}

/// Looks through /proc for processes that hold the device file of `fd`, as far as rights go.
pub fn look(fd: RawFd, id: &FileId) -> io::Result<Sightings> {
    let inode = sys::kernel_dev_ino(fd, c"")?;
    let mut found = Sightings::default();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        match holds(&entry.path(), pid, fd, inode, id) {
            Ok(true) => found.holders.push(Sighting { pid, guarded: is_guarded(&entry.path()) }),
            Ok(false) => {}
            // A process that ended meanwhile hides nothing.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found.hidden += 1,
            Err(_) => {}
        }
    }
    Ok(found)
}

fn holds(process: &Path, pid: u32, fd: RawFd, inode: (u64, u64), id: &FileId) -> io::Result<bool> {
    for entry in fs::read_dir(process.join("fd"))?.flatten() {
        let Some(other) = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
        let path = CString::new(entry.path().into_os_string().into_encoded_bytes())?;
        // Other opens of the node have the same inode; only few descriptors get this far.
        let same_inode = sys::kernel_dev_ino(libc::AT_FDCWD, &path).is_ok_and(|other| other == inode);
        if same_inode && is_same(process, pid, fd, other, id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// kcmp tells it wherever it is allowed; where it is not, the lock's line does.
fn is_same(process: &Path, pid: u32, fd: RawFd, other: RawFd, id: &FileId) -> bool {
    sys::same_description(fd, pid.cast_signed(), other)
        .unwrap_or_else(|_| has_lock_line(&process.join("fdinfo").join(other.to_string()), id))
}

/// A line reads `lock: 1: OFDLCK  ADVISORY  WRITE -1 00:06:1234 START END`.
pub(crate) fn has_lock_line(fdinfo: &Path, id: &FileId) -> bool {
    let text = fs::read_to_string(fdinfo).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("lock:") && line.contains("OFDLCK"));
    let mut starts = lines.filter_map(|line| line.split_whitespace().rev().nth(1)?.parse::<i64>().ok());
    starts.any(|start| identity::is_byte_of(start, id))
}

fn is_guarded(process: &Path) -> bool {
    fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("/libverbsguard.so"))
}
