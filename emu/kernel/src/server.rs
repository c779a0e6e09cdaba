//! The daemon: its sockets, and who waits on them.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, listen, socket};
use verbsguard_emu_proto::{DEVICES_MAX, SOCKET_PREFIX};

use crate::device::Device;
use crate::{control, session};

/// Inherited: one byte is written here when the sockets are there.
const READY: RawFd = 3;
/// Inherited: reads an end of file when the last program is gone.
const ALIVE: RawFd = 4;
/// How long to wait for a descriptor to become free.
const BACK_OFF: Duration = Duration::from_millis(20);

/// All devices of one run.
pub struct World {
    /// Where the sockets are.
    pub folder: PathBuf,
    /// The devices.
    pub devices: Vec<Arc<Mutex<Device>>>,
    connections: AtomicUsize,
}

/// One connection, counted as long as anybody serves it.
pub struct Connected {
    world: Arc<World>,
    /// Our end.
    pub socket: Arc<OwnedFd>,
}

impl Connected {
    fn new(world: &Arc<World>, socket: OwnedFd) -> Self {
        world.connections.fetch_add(1, Ordering::SeqCst);
        Connected { world: world.clone(), socket: Arc::new(socket) }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.world.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

impl World {
    /// A device's socket.
    pub fn socket(&self, device: usize) -> PathBuf {
        self.folder.join(format!("{SOCKET_PREFIX}{device}"))
    }
}

/// Serves `devices` emulated devices in `folder` until the last program that uses them is gone, then removes the folder.
pub fn serve(folder: &Path, devices: usize) -> io::Result<()> {
    let world = Arc::new(World {
        folder: folder.to_owned(),
        devices: (0..devices.min(DEVICES_MAX)).map(|_| Arc::default()).collect(),
        connections: AtomicUsize::new(0),
    });
    allow_many_descriptors();
    let result = run(&world);
    let _ = std::fs::remove_dir_all(folder);
    result
}

fn run(world: &Arc<World>) -> io::Result<()> {
    let mut listeners = Vec::new();
    for device in 0..world.devices.len() {
        // As on the device's node: who may use a device is not decided here.
        listeners.push(listener(&world.socket(device), 0o666)?);
    }
    listeners.push(listener(&world.folder.join("control"), 0o600)?);
    // SAFETY: inherited for this purpose, and used by nobody else here.
    let (ready, alive) = unsafe { (OwnedFd::from_raw_fd(READY), OwnedFd::from_raw_fd(ALIVE)) };
    nix::unistd::write(&ready, b"1")?;
    drop(ready);
    let mut last_gone = false;
    while !(last_gone && world.connections.load(Ordering::SeqCst) == 0) {
        let mut polled: Vec<PollFd<'_>> =
            listeners.iter().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)).collect();
        if !last_gone {
            polled.push(PollFd::new(alive.as_fd(), PollFlags::POLLIN));
        }
        // Once the programs are gone only connections count, and those end on their own threads.
        let patience = if last_gone { PollTimeout::from(20_u8) } else { PollTimeout::NONE };
        match poll(&mut polled, patience) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let woken: Vec<bool> = polled.iter().map(|one| one.any().unwrap_or(false)).collect();
        for (index, listener) in listeners.iter().enumerate().filter(|(index, _)| woken[*index]) {
            accept(world, index, listener);
        }
        last_gone = last_gone || woken.get(listeners.len()).is_some_and(|woken| *woken);
    }
    Ok(())
}

/// Every open file of every program is one here.
fn allow_many_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

fn listener(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(listener.as_raw_fd(), &UnixAddr::new(path)?)?;
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    listen(&listener, Backlog::new(128)?)?;
    Ok(listener)
}

fn accept(world: &Arc<World>, index: usize, listener: &OwnedFd) {
    let fd = match accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC) {
        Ok(fd) => fd,
        // Whoever waits goes on waiting; trying again at once would only keep the processor busy.
        Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM) => return thread::sleep(BACK_OFF),
        Err(_) => return,
    };
    // SAFETY: a descriptor that was just made for us.
    let connection = Connected::new(world, unsafe { OwnedFd::from_raw_fd(fd) });
    match world.devices.get(index) {
        Some(device) => session::start(device, connection),
        None => {
            drop(thread::Builder::new().spawn(move || control::serve(&connection.world, connection.socket.as_fd())))
        }
    }
}
