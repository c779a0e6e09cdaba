//! The daemon that plays the kernel, from its start to its end.
//!
//! It must not be the command's child (a command may wait for all of its own), nor hold any of its files open, and it
//! ends with the last program that has the keep-alive descriptor or an emulated device. It makes its folder and removes
//! it, so that none stays behind, whenever `run` is killed.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{Mode, makedev, umask};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, fork, pipe2, setsid};
use verbsguard_emu_proto::{FOLDER_MAX, NODE_DEV_MINOR};

use super::sysfs;

/// Where the daemon finds its pipes. On the first it says its folder's name, and READY_END; or, without
/// that, what went wrong.
const READY: RawFd = 3;
const READY_END: &[u8] = b"\n1";
const ALIVE: RawFd = 4;
/// Where the keep-alive descriptor goes, so that the command's own descriptors have the numbers they always have.
const KEEP_ALIVE: RawFd = 200;

/// Serves the emulated devices of one run.
#[derive(Debug, Args)]
pub struct Daemon {
    #[arg(long)]
    devices: usize,
    /// The ledger that its programs keep
    #[arg(long)]
    ledger: Option<PathBuf>,
}

impl Daemon {
    /// Until the last program is gone.
    pub fn run(&self) -> io::Result<()> {
        let result = self.serve();
        if let Err(error) = &result {
            say(error.to_string().as_bytes());
        }
        result
    }

    fn serve(&self) -> io::Result<()> {
        let folder = make_folder()?;
        if let Err(error) = sysfs::write(&folder.join("sys"), self.devices) {
            let _ = fs::remove_dir_all(&folder);
            return Err(error);
        }
        say(folder.as_os_str().as_bytes());
        say(b"\n");
        let result = verbsguard_emu_kernel::serve(&folder, self.devices);
        if let Some(ledger) = self.ledger.as_deref().filter(|ledger| ledger.is_dir()) {
            self.clear(ledger, &folder);
        }
        result
    }

    /// Nobody else can tell from a ledger that the device files of these devices are gone.
    fn clear(&self, ledger: &Path, folder: &Path) {
        let directory = if *ledger == verbsguard_ledger::auto() { None } else { Some(ledger) };
        let Ok(directory) = verbsguard_ledger::Folder::open(directory) else { return };
        let inode = |device| verbsguard_emu_proto::inode(folder.as_os_str().as_bytes(), device);
        let inodes: Vec<u64> = (0..self.devices).map(inode).collect();
        let dev = makedev(0, NODE_DEV_MINOR.into());
        verbsguard_ledger::clear(&directory, &|id| Some(id.dev == dev && inodes.contains(&id.ino)));
    }
}

/// Tells the command `run`, which may be gone.
fn say(text: &[u8]) {
    // SAFETY: inherited for this purpose; where it was closed since, nothing is written.
    let _ = nix::unistd::write(unsafe { BorrowedFd::borrow_raw(READY) }, text);
}

fn make_folder() -> io::Result<PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let candidates = runtime.into_iter().chain([PathBuf::from("/tmp")]);
    let mut problem = String::new();
    for base in candidates.filter(|base| base.is_absolute()) {
        match tempfile::Builder::new().prefix("verbsguard-emu-").tempdir_in(&base) {
            Ok(folder) if folder.path().as_os_str().len() > FOLDER_MAX => problem = "its name is too long".into(),
            Ok(folder) => return open_to_others(folder.keep()),
            Err(error) => problem = error.to_string(),
        }
    }
    Err(io::Error::other(format!("cannot make a folder in XDG_RUNTIME_DIR or /tmp: {problem}")))
}

/// A device file may be handed to a process of another user, which looks its devices up here too.
fn open_to_others(folder: PathBuf) -> io::Result<PathBuf> {
    fs::set_permissions(&folder, Permissions::from_mode(0o711))?;
    // For what is put there; the sockets get their own.
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    Ok(folder)
}

/// Starts the daemon; gives its folder. In the end it takes its devices out of the ledger.
pub fn start(devices: usize, ledger: Option<&Path>) -> Result<PathBuf, String> {
    launch(devices, ledger).and_then(await_folder).map_err(|error| format!("cannot start the emulated device: {error}"))
}

/// Gives the pipe on which the daemon says that it is ready. The keep-alive pipe's end stays open in this process and
/// what becomes of it.
fn launch(devices: usize, ledger: Option<&Path>) -> io::Result<OwnedFd> {
    let (ready, ready_end) = pipe2(OFlag::O_CLOEXEC)?;
    let (alive, alive_end) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&alive_end, FcntlArg::F_DUPFD(KEEP_ALIVE))?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            waitpid(child, None)?;
            Ok(ready)
        }
        ForkResult::Child => {
            let _ = detach(ready_end, alive, devices, ledger);
            // The parent sees the pipe end without a word.
            // SAFETY: ends this process without running anything of its parent's.
            unsafe { libc::_exit(1) }
        }
    }
}

/// Becomes the daemon in a child's child, so that it is nobody's in the end.
fn detach(ready: OwnedFd, alive: OwnedFd, devices: usize, ledger: Option<&Path>) -> io::Result<()> {
    setsid()?;
    // SAFETY: this process has one thread.
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        // SAFETY: as in the caller.
        unsafe { libc::_exit(0) }
    }
    place(ready, alive)?;
    chdir("/")?;
    let mut daemon = Command::new("/proc/self/exe");
    daemon.args(["emu-daemon", "--devices", &devices.to_string()]).env_remove("LD_PRELOAD");
    if let Some(ledger) = ledger {
        daemon.arg("--ledger").arg(ledger);
    }
    Err(daemon.arg0("verbsguard").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).exec())
}

/// Puts the pipes where the daemon expects them, and closes all else.
fn place(ready: OwnedFd, alive: OwnedFd) -> io::Result<()> {
    // First out of the way of each other's places.
    let away = |fd: OwnedFd| fcntl(&fd, FcntlArg::F_DUPFD_CLOEXEC(ALIVE + 1));
    for (from, to) in [(away(ready)?, READY), (away(alive)?, ALIVE)] {
        // SAFETY: numbers that nothing else in this process uses from here on.
        if unsafe { libc::dup2(from, to) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: as above.
    match unsafe { libc::close_range(ALIVE as u32 + 1, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn await_folder(ready: OwnedFd) -> io::Result<PathBuf> {
    let mut said = Vec::new();
    File::from(ready).read_to_end(&mut said)?;
    match said.strip_suffix(READY_END) {
        Some(folder) => Ok(OsString::from_vec(folder.to_owned()).into()),
        None if said.is_empty() => Err(io::Error::other("its daemon ended at once")),
        None => Err(io::Error::other(String::from_utf8_lossy(&said).replace('\n', " "))),
    }
}
