//! The other side: does what it is told over the socket on its standard input, and answers there. One message is one
//! command, with a descriptor where it needs one.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, UNIX_EPOCH};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use verbsguard_ledger::identity;

#[test]
#[ignore = "the process that the other tests talk to"]
fn run() {
    let socket = std::io::stdin();
    while let Some((command, fd)) = receive(&socket) {
        let answer = obey(&command, fd);
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

fn obey(command: &str, fd: Option<OwnedFd>) -> String {
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
        _ => format!("unknown command: {command}"),
    }
}
