//! The daemon: sockets, one thread for each device file.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, listen, socket};
use verbsguard_emu_proto::{DEVICES_MAX, Flock, MAGIC, REQUEST_WORDS, SOCKET_PREFIX, request, word};

use crate::control;
use crate::device::Device;
use crate::ioctl::Call;
use crate::locks::{Owner, Wish};
use crate::methods::{self, Client};
use crate::ufile::Ufile;
use crate::wire::{self, Answer, Talk};

/// Inherited: one byte is written here when the sockets are there.
const READY: RawFd = 3;
/// Inherited: reads an end of file when the last program is gone.
const ALIVE: RawFd = 4;

/// All devices of one run.
pub struct World {
    /// Where the sockets are.
    pub folder: PathBuf,
    /// The devices.
    pub devices: Vec<Arc<Mutex<Device>>>,
    connections: AtomicUsize,
    ufiles: AtomicU64,
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
        ufiles: AtomicU64::new(1),
    });
    let result = run(&world);
    let _ = std::fs::remove_dir_all(folder);
    result
}

fn run(world: &Arc<World>) -> io::Result<()> {
    let mut listeners = Vec::new();
    for device in 0..world.devices.len() {
        listeners.push(listener(&world.socket(device))?);
    }
    listeners.push(listener(&world.folder.join("control"))?);
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

fn listener(path: &Path) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(listener.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&listener, Backlog::new(128)?)?;
    Ok(listener)
}

fn accept(world: &Arc<World>, index: usize, listener: &OwnedFd) {
    let Ok(fd) = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC) else { return };
    // SAFETY: a descriptor that was just made for us.
    let connection = unsafe { OwnedFd::from_raw_fd(fd) };
    let world = world.clone();
    world.connections.fetch_add(1, Ordering::SeqCst);
    let spawned = thread::Builder::new().spawn({
        let world = world.clone();
        move || {
            match world.devices.get(index) {
                Some(device) => device_file(&world, device, &connection),
                None => control::serve(&world, connection.as_fd()),
            }
            world.connections.fetch_sub(1, Ordering::SeqCst);
        }
    });
    if spawned.is_err() {
        world.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One device file, from its open to its last close.
fn device_file(world: &World, device: &Arc<Mutex<Device>>, connection: &OwnedFd) {
    let ufile = world.ufiles.fetch_add(1, Ordering::Relaxed);
    let client = Client { device: device.clone(), ufile };
    client.lock().ufiles.insert(ufile, Ufile::default());
    while let Ok(message) = wire::receive(connection.as_raw_fd()) {
        if message.bytes.is_empty() {
            break;
        }
        // What does not come with a socket of its own cannot be answered.
        if let Some(fd) = message.fd {
            answer(&client, &message.bytes, Talk::new(fd));
        }
    }
    client.lock().close(ufile);
}

fn answer(client: &Client, bytes: &[u8], talk: Talk) {
    let [magic, kind, a, b] = [0, 1, 2, 3].map(|index| word(bytes, index));
    let payload = bytes.get(REQUEST_WORDS * 8..).unwrap_or_default();
    if magic != MAGIC {
        return talk.done(Err(libc::EINVAL), None, 0, &[]);
    }
    match kind {
        request::OPEN => talk.done(if client.lock().removed { Err(libc::EIO) } else { Ok(()) }, None, 0, &[]),
        request::IOCTL => ioctl(client, a, payload, &talk),
        request::MMAP => map(client, a, b, &talk),
        request::LOCK => lock(client, a, b, payload, talk),
        // The commands of old: only from the process that opened it, and libibverbs does not use them.
        request::WRITE => talk.done(Err(libc::EACCES), None, 0, &[]),
        _ => talk.done(Err(libc::ENOSYS), None, 0, &[]),
    }
}

fn ioctl(client: &Client, address: u64, bytes: &[u8], talk: &Talk) {
    match Call::parse(talk, address, bytes) {
        Ok(call) => {
            let result = methods::run(client, &call);
            match call.take_fd() {
                Some((fd, store)) => talk.done(result, Some(fd.as_raw_fd()), store, &[]),
                None => talk.done(result, None, 0, &[]),
            }
        }
        Err(errno) => talk.done(Err(errno), None, 0, &[]),
    }
}

fn map(client: &Client, offset: u64, length: u64, talk: &Talk) {
    let page: Answer<OwnedFd> = client.with(|_, ufile| {
        let page = ufile.page(offset).filter(|_| length > 0 && length <= 4096).ok_or(libc::EINVAL)?;
        page.try_clone().map_err(|_| libc::ENOMEM)
    });
    match page {
        Ok(page) => talk.done(Ok(()), Some(page.as_raw_fd()), 0, &[]),
        Err(errno) => talk.done(Err(errno), None, 0, &[]),
    }
}

fn lock(client: &Client, command: u64, pid: u64, payload: &[u8], talk: Talk) {
    let asked: Flock = [0, 1, 2, 3, 4].map(|index| word(payload, index));
    let Ok(command) = i32::try_from(command) else { return talk.done(Err(libc::EINVAL), None, 0, &[]) };
    let owner = match command {
        libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => Owner::Description(client.ufile),
        _ => Owner::Process(u32::try_from(pid).unwrap_or(0)),
    };
    let wish = match Wish::read(owner, &asked) {
        Ok(wish) => wish,
        Err(errno) => return talk.done(Err(errno), None, 0, &[]),
    };
    match command {
        libc::F_GETLK | libc::F_OFD_GETLK => {
            let found = client.lock().locks.get(wish, &asked);
            talk.done(Ok(()), None, 0, &found);
        }
        libc::F_SETLK | libc::F_OFD_SETLK => {
            let result = client.lock().locks.set(wish);
            talk.done(result, None, 0, &[]);
        }
        libc::F_SETLKW | libc::F_OFD_SETLKW => wait_for(client.clone(), wish, talk),
        _ => talk.done(Err(libc::EINVAL), None, 0, &[]),
    }
}

/// Waits on a thread of its own: others use the device file meanwhile.
fn wait_for(client: Client, wish: Wish, talk: Talk) {
    let _ = thread::Builder::new().spawn(move || {
        loop {
            match client.lock().locks.set(wish) {
                Err(libc::EAGAIN) if !talk.is_abandoned() => {}
                result => return talk.done(result, None, 0, &[]),
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Whether anything is there to be read from a descriptor, or its peer is gone.
pub fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(fd, PollFlags::POLLIN)];
    poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
