//! The daemon that plays the kernel, from its start to its end.
//!
//! It must not be the command's child (a command may wait for all of its own), nor hold any of its files open, and it
//! ends with the last program that has the keep-alive descriptor or an emulated device.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use clap::Args;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, fork, pipe2, setsid};
use verbsguard_emu_proto::FOLDER_MAX;

use super::sysfs;

/// Where the daemon finds its pipes.
const READY: RawFd = 3;
const ALIVE: RawFd = 4;
/// Where the keep-alive descriptor goes, so that the command's own descriptors have the numbers they always have.
const KEEP_ALIVE: RawFd = 200;

/// Serves the emulated devices of one run.
#[derive(Debug, Args)]
pub struct Daemon {
    #[arg(long)]
    devices: usize,
    #[arg(long)]
    folder: PathBuf,
}

impl Daemon {
    /// Until the last program is gone.
    pub fn run(&self) -> io::Result<()> {
        verbsguard_emu_kernel::serve(&self.folder, self.devices)
    }
}

/// Starts the daemon with its sysfs tree; gives its folder, which it removes at its end.
pub fn start(devices: usize) -> Result<PathBuf, String> {
    let folder = make_folder()?;
    let started = launch(&folder, devices).and_then(|ready| {
        // Meanwhile the daemon starts; whatever happens from here on, it removes the folder.
        sysfs::write(&folder.join("sys"), devices)?;
        wait_until_ready(ready)
    });
    match started {
        Ok(()) => Ok(folder),
        Err(error) => {
            let _ = fs::remove_dir_all(&folder);
            Err(format!("cannot start the emulated device: {error}"))
        }
    }
}

fn make_folder() -> Result<PathBuf, String> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let candidates = runtime.into_iter().chain([PathBuf::from("/tmp")]);
    let mut problem = String::new();
    for base in candidates.filter(|base| base.is_absolute()) {
        match tempfile::Builder::new().prefix("verbsguard-emu-").tempdir_in(&base) {
            Ok(folder) if folder.path().as_os_str().len() > FOLDER_MAX => problem = "its name is too long".into(),
            Ok(folder) => return Ok(folder.keep()),
            Err(error) => problem = error.to_string(),
        }
    }
    Err(format!("cannot make a folder for the emulated device in XDG_RUNTIME_DIR or /tmp: {problem}"))
}

/// Gives the pipe on which the daemon says that it is ready. The keep-alive pipe's end stays open in this process and
/// what becomes of it.
fn launch(folder: &Path, devices: usize) -> io::Result<OwnedFd> {
    let (ready, ready_end) = pipe2(OFlag::O_CLOEXEC)?;
    let (alive, alive_end) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&alive_end, FcntlArg::F_DUPFD(KEEP_ALIVE))?;
    let program = fs::read_link("/proc/self/exe")?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            waitpid(child, None)?;
            Ok(ready)
        }
        ForkResult::Child => {
            let _ = detach(ready_end, alive, &program, folder, devices);
            // The parent sees the pipe end without a word.
            // SAFETY: ends this process without running anything of its parent's.
            unsafe { libc::_exit(1) }
        }
    }
}

/// In a child's child, so that it is nobody's in the end.
fn detach(ready: OwnedFd, alive: OwnedFd, program: &Path, folder: &Path, devices: usize) -> io::Result<()> {
    setsid()?;
    // SAFETY: this process has one thread.
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        // SAFETY: as in the caller.
        unsafe { libc::_exit(0) }
    }
    place(ready, alive)?;
    chdir("/")?;
    let error = std::os::unix::process::CommandExt::exec(
        std::process::Command::new(program)
            .arg("emu-daemon")
            .args(["--devices", &devices.to_string(), "--folder"])
            .arg(folder)
            .env_remove("LD_PRELOAD")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null()),
    );
    Err(error)
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

fn wait_until_ready(ready: OwnedFd) -> io::Result<()> {
    match fs::File::from(ready).read_exact(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(io::Error::other("its daemon ended at once")),
        result => result,
    }
}
