//! The other side: does what it is told over the socket on its standard input, and answers there. One message is one
//! command, with a descriptor where it needs one.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use verbsguard_core::ledger::{Event, FileId, Generation, Handle, Origin, Stamp};
use verbsguard_core::site::{Frame, Site};
use verbsguard_ledger::identity;

use super::worker::Worker;

#[test]
#[ignore = "the process that the other tests talk to"]
fn run() {
    let socket = std::io::stdin();
    let mut peer = Peer::default();
    while let Some((command, fd)) = receive(&socket) {
        let answer = peer.obey(&command, fd);
        if send(&socket, answer.as_bytes(), SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

fn receive(socket: &std::io::Stdin) -> Option<(String, Option<OwnedFd>)> {
    let mut bytes = [0; 512];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut rights, RecvFlags::CMSG_CLOEXEC).ok()?;
    let fd = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let command = String::from_utf8(bytes.get(..got.bytes)?.to_vec()).ok()?;
    (!command.is_empty()).then_some((command, fd))
}

fn identify(fd: &OwnedFd) -> String {
    match identity::identify(fd.as_raw_fd()) {
        Ok(id) => id.file_name(),
        Err(error) => error.to_string(),
    }
}

/// Spins until a time (nanoseconds since 1970), so that two peers do something at once.
fn spin_until(time: &str) {
    let time = Duration::from_nanos(time.parse().unwrap_or_default());
    while UNIX_EPOCH.elapsed().is_ok_and(|now| now < time) {
        std::hint::spin_loop();
    }
}

/// What a peer has: at most one ledger.
#[derive(Default)]
struct Peer(Option<Worker>);

impl Peer {
    fn obey(&mut self, command: &str, fd: Option<OwnedFd>) -> String {
        let (command, argument) = command.split_once(' ').unwrap_or((command, ""));
        match (command, fd) {
            ("identify", Some(fd)) => {
                spin_until(argument);
                identify(&fd)
            }
            // Kept open until the process ends.
            ("hold", Some(fd)) => {
                std::mem::forget(fd);
                "held".to_owned()
            }
            ("join", None) => self.join(argument),
            ("kill", None) => kill_children(argument),
            ("leave", None) => self.0.take().map_or_else(String::new, |worker| {
                worker.ledger.leave(Stamp::default());
                "left".to_owned()
            }),
            (command, None) => match &mut self.0 {
                Some(worker) => work(worker, command, argument),
                None => "not joined".to_owned(),
            },
            _ => format!("unknown command: {command}"),
        }
    }

    fn join(&mut self, argument: &str) -> String {
        let (dir, id) = place(argument);
        let worker = self.0.insert(Worker::join(dir, &id));
        worker.ledger.me().0.to_string()
    }
}

fn place(argument: &str) -> (&Path, FileId) {
    let (id, dir) = argument.split_once(' ').expect("a device file and a directory");
    (Path::new(dir), id.parse().expect("a device file"))
}

fn work(worker: &mut Worker, command: &str, argument: &str) -> String {
    let number = argument.parse().unwrap_or(0);
    match command {
        "steps" => {
            (0..number).for_each(|_| worker.step());
            "done".to_owned()
        }
        "make" => worker.make(Handle(number)).0.to_string(),
        "acquire" => {
            let (handle, generation) = argument.split_once(' ').expect("handle and generation");
            let numbers = (handle.parse().expect("a number"), generation.parse().expect("a number"));
            worker.acquire(Handle(numbers.0), Generation(numbers.1), Origin::Imported).0.to_string()
        }
        "churn" => {
            let numbers: Vec<u64> = argument.split(' ').map(|number| number.parse().expect("a number")).collect();
            let [pairs, handle, generation] = numbers[..] else { panic!("pairs, handle and generation") };
            (0..pairs).for_each(|_| {
                let serial = worker.acquire(Handle(handle as u32), Generation(generation), Origin::Imported);
                worker.release(serial);
            });
            "done".to_owned()
        }
        "digest" => worker.digest(),
        "stack" => {
            let frame = |offset| Frame { module: "/bin/app".to_owned(), offset, ..Frame::default() };
            worker.ledger.tell_stack(Site(number), || vec![frame(16), Frame::default(), frame(32)]);
            "told".to_owned()
        }
        "fork" => fork_and_try(worker),
        _ => format!("unknown command: {command}"),
    }
}

fn fork() -> i32 {
    // SAFETY: this process has one thread that does anything (the test harness's main thread only waits), so no lock is
    // held by another one; the child uses the allocator, which the C library makes usable after fork.
    unsafe { libc::fork() }
}

/// A child of fork tries to append; then it stays.
fn fork_and_try(worker: &Worker) -> String {
    let (mut read, mut write) = std::io::pipe().expect("a pipe");
    let child = fork();
    if child == 0 {
        let left = Event::Left { holder: worker.ledger.me(), stamp: Stamp::default() };
        let said = format!("{:?} {}", worker.ledger.append(&left), worker.ledger.is_mine());
        let _ = write.write_all(said.as_bytes());
        drop(write);
        std::thread::sleep(Duration::from_secs(60));
        std::process::exit(0);
    }
    drop(write);
    let mut said = String::new();
    read.read_to_string(&mut said).expect("the child tells");
    format!("{child} {said}")
}

/// Starts workers one after another, and kills each after a short while, wherever it may be.
fn kill_children(argument: &str) -> String {
    let (count, place_argument) = argument.split_once(' ').expect("a count");
    let (dir, id) = place(place_argument);
    for i in 0..count.parse::<u64>().expect("a number") {
        let child = fork();
        if child == 0 {
            let _ = std::panic::catch_unwind(|| {
                let mut worker = Worker::join(dir, &id);
                loop {
                    worker.step();
                }
            });
            std::process::abort();
        }
        // From before it has joined until it has been through some rewrites.
        std::thread::sleep(Duration::from_micros(i * 7919 % 1500));
        let mut status = 0;
        // SAFETY: it is our own child, and not waited for yet.
        unsafe { libc::kill(child, libc::SIGKILL) };
        // SAFETY: as above; status is ours.
        unsafe { libc::waitpid(child, &mut status, 0) };
        if libc::WTERMSIG(status) != libc::SIGKILL {
            return format!("a worker failed: {status}");
        }
    }
    "done".to_owned()
}
