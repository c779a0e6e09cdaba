//! One device file, from its open to its last close: its requests, and the threads that answer them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use verbsguard_emu_proto::{Flock, MAGIC, REQUEST_WORDS, request, word};

use crate::device::Device;
use crate::ioctl::Call;
use crate::locks::{Owner, Wish};
use crate::methods::{self, Client};
use crate::object::PAGE;
use crate::server::Connected;
use crate::ufile::Ufile;
use crate::wire::{self, Answer, Talk};

static LAST: AtomicU64 = AtomicU64::new(0);
/// Enough for the deepest request; most threads only wait.
const STACK: usize = 256 << 10;
/// How many threads may wait for a device file's next request.
const SPARE: usize = 1;

/// An open device file. It is closed when the last thread that serves it is done, as in the kernel, where a call under
/// way holds its file.
struct Session {
    client: Client,
    connection: Connected,
    /// Threads that wait for a request.
    waiting: AtomicUsize,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.client.lock().close(self.client.ufile);
    }
}

/// Serves a connection as a device file.
pub fn start(device: &Arc<Mutex<Device>>, connection: Connected) {
    let client = Client { device: device.clone(), ufile: LAST.fetch_add(1, Ordering::Relaxed) };
    let ufile = Ufile::of(connection.socket.clone());
    client.lock().ufiles.insert(client.ufile, ufile);
    Session::wait_on_another(&Arc::new(Session { client, connection, waiting: AtomicUsize::new(0) }));
}

impl Session {
    /// One more thread that waits. Where there can be none, the present ones go on alone.
    fn wait_on_another(self: &Arc<Self>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let session = self.clone();
        if thread::Builder::new().stack_size(STACK).spawn(move || session.wait()).is_err() {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whoever receives a request serves it, so that nothing is handed over; before, it makes sure that somebody waits
    /// for the next one, for this one may take as long as the program likes.
    fn wait(self: Arc<Self>) {
        while let Ok(message) = wire::receive(self.connection.socket.as_raw_fd()) {
            if message.bytes.is_empty() {
                return;
            }
            if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.wait_on_another();
            }
            // What does not come with a socket of its own cannot be answered.
            if let Some(fd) = message.fd {
                // A program that is gone needs no answer.
                let _ = answer(&self.client, &self.connection.socket, &message.bytes, &Talk::new(fd));
            }
            if self.waiting.fetch_add(1, Ordering::SeqCst) > SPARE {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

fn answer(client: &Client, opener: &OwnedFd, bytes: &[u8], talk: &Talk) -> Answer<()> {
    let [magic, kind, a, b] = [0, 1, 2, 3].map(|index| word(bytes, index));
    let payload = bytes.get(REQUEST_WORDS * 8..).unwrap_or_default();
    if magic != MAGIC {
        return talk.done(Err(libc::EINVAL), &[]);
    }
    match kind {
        request::OPEN => talk.done(open(client, a), &[]),
        request::IOCTL => ioctl(client, a, payload, talk),
        request::MMAP => map(client, a, b, talk),
        request::LOCK => lock(client, a, b, payload, talk),
        // The commands of old were taken from the opener only. This device does not know them.
        request::WRITE if talk.caller() != wire::peer(opener) => talk.done(Err(libc::EACCES), &[]),
        request::WRITE => talk.done(Err(libc::EOPNOTSUPP), &[]),
        _ => talk.done(Err(libc::ENOSYS), &[]),
    }
}

fn open(client: &Client, flags: u64) -> Answer<()> {
    client.with(|device, ufile| {
        ufile.flags = i32::try_from(flags).map_err(|_| libc::EINVAL)?;
        if device.removed { Err(libc::EIO) } else { Ok(()) }
    })
}

fn ioctl(client: &Client, address: u64, bytes: &[u8], talk: &Talk) -> Answer<()> {
    match Call::parse(talk, address, bytes) {
        Ok(call) => {
            let result = methods::run(client, &call);
            match (result, call.take_fd()) {
                (Ok(()), Some(sent)) => talk.done_with(sent.fd.as_raw_fd(), sent.store, sent.size),
                (result, _) => talk.done(result, &[]),
            }
        }
        Err(errno) => talk.done(Err(errno), &[]),
    }
}

fn map(client: &Client, offset: u64, length: u64, talk: &Talk) -> Answer<()> {
    let memory: Answer<OwnedFd> = client.with(|_, ufile| {
        let (memory, size) = ufile.memory(offset).ok_or(libc::EINVAL)?;
        if length == 0 || length > size.next_multiple_of(PAGE) {
            return Err(libc::EINVAL);
        }
        memory.try_clone().map_err(|_| libc::ENOMEM)
    });
    match memory {
        Ok(memory) => talk.done_with(memory.as_raw_fd(), 0, 0),
        Err(errno) => talk.done(Err(errno), &[]),
    }
}

fn lock(client: &Client, command: u64, pid: u64, payload: &[u8], talk: &Talk) -> Answer<()> {
    let asked: Flock = [0, 1, 2, 3, 4].map(|index| word(payload, index));
    let Ok(command) = i32::try_from(command) else { return talk.done(Err(libc::EINVAL), &[]) };
    let owner = match command {
        libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => Owner::Description(client.ufile),
        _ => Owner::Process(u32::try_from(pid).unwrap_or(0)),
    };
    let wish = match Wish::read(owner, &asked) {
        Ok(wish) => wish,
        Err(errno) => return talk.done(Err(errno), &[]),
    };
    match command {
        libc::F_GETLK | libc::F_OFD_GETLK => {
            let found = client.lock().locks().get(wish, &asked);
            talk.done(Ok(()), &found)
        }
        libc::F_SETLK | libc::F_OFD_SETLK => {
            let result = grant(client, wish, talk);
            result.or_else(|errno| talk.done(Err(errno), &[]))
        }
        libc::F_SETLKW | libc::F_OFD_SETLKW => wait_for(client, wish, talk),
        _ => talk.done(Err(libc::EINVAL), &[]),
    }
}

/// Gives a lock where it can be had; EAGAIN where not, of which the program is not told here. A program that was
/// interrupted and does not learn of its lock must not have it.
fn grant(client: &Client, wish: Wish, talk: &Talk) -> Answer<()> {
    let mut device = client.lock();
    if !device.ufiles.get(&client.ufile).is_some_and(|ufile| wish.fits(ufile.flags)) {
        return Err(libc::EBADF);
    }
    let mut changed = device.locks().clone();
    changed.set(wish)?;
    // The answer is the first and last message in the socket's queue, so this does not wait.
    if talk.done(Ok(()), &[]).is_ok() {
        *device.locks() = changed;
    }
    Ok(())
}

fn wait_for(client: &Client, wish: Wish, talk: &Talk) -> Answer<()> {
    loop {
        match grant(client, wish, talk) {
            Err(libc::EAGAIN) if !talk.is_abandoned() => thread::sleep(Duration::from_millis(1)),
            Err(errno) => return talk.done(Err(errno), &[]),
            Ok(()) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).unwrap()
    }

    #[test]
    fn a_lock_that_the_program_does_not_learn_of_is_undone() {
        let client = Client { device: Arc::default(), ufile: 7 };
        let (connection, _program) = pair();
        client.lock().ufiles.insert(7, Ufile::of(Arc::new(connection)));
        open(&client, libc::O_RDWR as u64).unwrap();
        let asked: Flock = [libc::F_WRLCK as u64, 0, 10, 1, 0];
        let wish = || Wish::read(Owner::Description(7), &asked).unwrap();
        let (ours, gone) = pair();
        drop(gone);
        assert_eq!(grant(&client, wish(), &Talk::new(ours)), Ok(()));
        assert!(client.lock().locks().descriptions().is_empty());
        let (ours, _there) = pair();
        assert_eq!(grant(&client, wish(), &Talk::new(ours)), Ok(()));
        assert_eq!(client.lock().locks().descriptions(), [7]);
    }
}
