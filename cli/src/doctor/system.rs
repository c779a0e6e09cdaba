//! What the machine offers: the ledger's directory, the kernel, the devices.

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use verbsguard_core::options::{Ledger, Options};
use verbsguard_ledger::{Folder, auto, open_all};

/// Where processes leave what others should know.
#[derive(Debug, Serialize)]
pub struct LedgerState {
    /// Its directory; None with `ledger=off`.
    pub path: Option<PathBuf>,
    /// Whether this user's processes can use it.
    pub usable: bool,
    /// How it is, in words.
    pub state: String,
}

/// Something that the guard asks of the kernel.
#[derive(Debug, Serialize)]
pub struct Support {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub there: bool,
    /// What is missed without it.
    pub without: &'static str,
}

/// Looks at the ledger's directory; makes nothing.
pub fn ledger(options: &Options) -> LedgerState {
    let (path, given) = match &options.ledger {
        Ledger::Off => return LedgerState { path: None, usable: true, state: "off: only one process is seen".into() },
        Ledger::Auto => (auto(), None),
        Ledger::Dir(path) => (path.clone(), Some(path.as_path())),
    };
    let (usable, state) = match path.symlink_metadata() {
        Ok(_) => used(&path, given),
        Err(error) if error.kind() == io::ErrorKind::NotFound => to_be_made(&path),
        Err(error) => (false, error.to_string()),
    };
    LedgerState { path: Some(path), usable, state }
}

fn used(path: &Path, given: Option<&Path>) -> (bool, String) {
    match Folder::open(given) {
        Err(degraded) => (false, degraded.to_string()),
        Ok(_) if access(path, AccessFlags::W_OK | AccessFlags::X_OK).is_err() => (false, "not writable".into()),
        Ok(_) => {
            let files: Vec<_> = open_all(path).collect();
            let alive = files.iter().flat_map(|file| &file.holders).filter(|holder| holder.alive).count();
            (true, format!("device files: {}, live holders: {alive}", files.len()))
        }
    }
}

fn to_be_made(path: &Path) -> (bool, String) {
    match path.parent() {
        Some(parent) if access(parent, AccessFlags::W_OK | AccessFlags::X_OK).is_ok() => (true, "not there yet".into()),
        Some(parent) => (false, format!("cannot be made: {} is not writable", parent.display())),
        None => (false, "cannot be made".into()),
    }
}

/// Asks the kernel.
pub fn kernel() -> Vec<Support> {
    let ask = |name, there, without| Support { name, there, without };
    vec![
        ask("OFD locks", ofd_locks(), "each process sees itself only"),
        ask("kcmp", kcmp(), "unguarded holders of a device file may stay unseen"),
        ask("ptrace of this user's processes", may_ptrace(), "unguarded holders of a device file may stay unseen"),
        ask("process_vm_readv", process_vm_readv(), "bad pointers are not told before they are used"),
    ]
}

fn ofd_locks() -> bool {
    let Ok(file) = std::env::current_exe().and_then(std::fs::File::open) else { return false };
    let mut lock =
        libc::flock { l_type: libc::F_RDLCK as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 1, l_pid: 0 };
    // SAFETY: an open descriptor and a flock that lives as long as the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) == 0 }
}

fn kcmp() -> bool {
    const KCMP_FILE: libc::c_int = 0;
    let own = std::process::id();
    // SAFETY: kcmp compares two descriptors of this process and touches no memory.
    unsafe { libc::syscall(libc::SYS_kcmp, own, own, KCMP_FILE, 0, 0) >= 0 }
}

fn process_vm_readv() -> bool {
    let (from, mut to) = ([1_u8; 8], [0_u8; 8]);
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    // SAFETY: two buffers of this function, each as long as its iovec says.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    read == 8 && from == to
}

/// Not where Yama restricts it.
fn may_ptrace() -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    matches!(scope.trim(), "" | "0")
}

/// The verbs devices, each with what stands in this user's way.
pub fn devices() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/infiniband").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("uverbs"))
        .map(|name| match access(&Path::new("/dev/infiniband").join(&name), AccessFlags::R_OK | AccessFlags::W_OK) {
            Ok(()) => name,
            Err(error) => format!("{name} ({error})"),
        })
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn state(path: &Path) -> LedgerState {
        ledger(&Options { ledger: Ledger::Dir(path.into()), ..Options::default() })
    }

    #[test]
    fn the_ledger_is_looked_at_and_not_made() {
        let path = std::env::temp_dir().join(format!("verbsguard-doctor-{}-ledger", std::process::id()));
        assert_eq!(state(&path).state, "not there yet");
        assert!(!path.exists());
        std::fs::create_dir(&path).unwrap();
        let good = state(&path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let open_to_all = state(&path);
        std::fs::remove_dir(&path).unwrap();
        assert_eq!((good.usable, good.state.as_str()), (true, "device files: 0, live holders: 0"));
        assert!(!open_to_all.usable && open_to_all.state.contains("chmod o-w"), "{open_to_all:?}");
        assert!(!state(Path::new("/proc/verbsguard")).usable || nix::unistd::getuid().is_root());
    }

    #[test]
    fn the_kernel_answers() {
        let names: Vec<_> = kernel().into_iter().map(|support| support.name).collect();
        assert_eq!(names, ["OFD locks", "kcmp", "ptrace of this user's processes", "process_vm_readv"]);
    }
}
