//! What this process tells of itself.

use std::fs;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use verbsguard_core::ledger::{FileId, Process};

use crate::strangers;

/// This process, as it joins the ledger of the device file `id` that `fd` is of.
pub fn this_process(device: &str, fd: RawFd, id: &FileId) -> Process {
    // SAFETY: always succeeds and touches no memory.
    let uid = unsafe { libc::geteuid() };
    let fdinfo = Path::new("/proc/self/fdinfo").join(fd.to_string());
    Process {
        pid: std::process::id(),
        start_time: start_time(&line("/proc/self/stat")).unwrap_or_default(),
        pid_ns: fs::metadata("/proc/self/ns/pid").map(|ns| ns.ino()).unwrap_or_default(),
        uid,
        comm: line("/proc/self/comm"),
        exe: fs::read_link("/proc/self/exe").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        boot_id: boot_id(),
        host: host(),
        device: device.to_owned(),
        joined_ns: UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        parent: None,
        listed: strangers::has_lock_line(&fdinfo, id),
    }
}

/// The 22nd field; the second, the command, may hold spaces and parentheses.
fn start_time(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

pub fn boot_id() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

pub fn host() -> String {
    line("/proc/sys/kernel/hostname")
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim_end().to_owned()).unwrap_or_default()
}
