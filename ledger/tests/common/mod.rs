//! Peers: processes that do what a test tells them. A peer is the test program itself, started to run one ignored test.

mod peer;
pub mod worker;

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, sendmsg,
    socketpair,
};

/// A peer process; killed when dropped.
pub struct Peer {
    process: Child,
    socket: OwnedFd,
}

impl Peer {
    /// Starts one.
    pub fn start() -> Peer {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (socket, theirs) = pair.expect("a socket pair");
        let process = Command::new(std::env::current_exe().expect("a path"))
            .args(["--ignored", "--exact", "common::peer::run", "--nocapture"])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .expect("it can be started");
        Peer { process, socket }
    }

    /// Gives a command, and a descriptor.
    pub fn tell(&self, command: &str, fd: Option<BorrowedFd<'_>>) {
        send(self.socket.as_fd(), command, fd);
    }

    /// Waits for the answer.
    pub fn answer(&self) -> String {
        let mut bytes = [0; 4096];
        let (_, len) = recv(&self.socket, bytes.as_mut_slice(), rustix::net::RecvFlags::empty()).expect("an answer");
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }

    /// Gives a command and waits for the answer.
    pub fn ask(&self, command: &str, fd: Option<BorrowedFd<'_>>) -> String {
        self.tell(command, fd);
        self.answer()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills it (SIGKILL) and waits for its end.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        self.process.wait().expect("it was our child");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends a command, with a descriptor.
pub fn send(socket: BorrowedFd<'_>, command: &str, fd: Option<BorrowedFd<'_>>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let fds: Vec<_> = fd.into_iter().collect();
    if !fds.is_empty() {
        assert!(rights.push(SendAncillaryMessage::ScmRights(&fds)));
    }
    sendmsg(socket, &[IoSlice::new(command.as_bytes())], &mut rights, SendFlags::NOSIGNAL).expect("the peer lives");
}
