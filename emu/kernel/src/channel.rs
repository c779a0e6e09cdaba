//! The descriptors that events and answers are read from. No event ever comes, but a firmware command in the background
//! is answered at once: each is a socket that keeps messages apart.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, socketpair};
use nix::sys::stat::fstat;

use crate::wire::Answer;

/// What events a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// Of the device and its objects.
    Asynchronous,
    /// Of completion queues.
    Completion,
    /// Of what the firmware made.
    Firmware,
    /// Answers to commands in the background.
    Commands,
}

#[derive(Debug)]
struct Channel {
    events: Events,
    inode: u64,
    /// The end that keeps the other one from reading an end of file.
    source: OwnedFd,
}

/// Those of one device file.
#[derive(Debug, Default)]
pub struct Channels(Vec<Channel>);

impl Channels {
    /// A new one: the program's end.
    pub fn open(&mut self, events: Events) -> Answer<OwnedFd> {
        self.0.retain(|channel| !channel.is_closed());
        let (reader, source) = pair().map_err(number)?;
        let inode = fstat(&reader).map_err(number)?.st_ino;
        self.0.push(Channel { events, inode, source });
        Ok(reader)
    }

    /// Refuses a descriptor that is not one of these, or for other events.
    pub fn check(&self, fd: &OwnedFd, events: Events) -> Answer<()> {
        self.find(fd, events).map(drop)
    }

    fn find(&self, fd: &OwnedFd, events: Events) -> Answer<&Channel> {
        let inode = fstat(fd).map_err(number)?.st_ino;
        let is_it = |channel: &&Channel| channel.inode == inode && channel.events == events;
        self.0.iter().find(is_it).ok_or(libc::EBADF)
    }

    /// Gives the program something to read. ENOMEM where it has left too much unread.
    pub fn tell(&self, fd: &OwnedFd, events: Events, message: &[u8]) -> Answer<()> {
        let source = self.find(fd, events)?.source.as_raw_fd();
        send(source, message, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL).map(drop).map_err(|_| libc::ENOMEM)
    }
}

fn pair() -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
}

impl Channel {
    /// The program has closed all descriptors of its end.
    fn is_closed(&self) -> bool {
        let mut polled = [PollFd::new(self.source.as_fd(), PollFlags::empty())];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

fn number(error: Errno) -> i32 {
    error as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_known_until_it_is_closed() {
        let mut channels = Channels::default();
        let first = channels.open(Events::Completion).unwrap();
        assert_eq!(channels.check(&first, Events::Completion), Ok(()));
        assert_eq!(channels.check(&first, Events::Asynchronous), Err(libc::EBADF));
        let (other, _peer) = pair().unwrap();
        assert_eq!(channels.check(&other, Events::Completion), Err(libc::EBADF));
        drop(first);
        let second = channels.open(Events::Asynchronous).unwrap();
        assert_eq!(channels.0.len(), 1);
        assert_eq!(channels.check(&second, Events::Asynchronous), Ok(()));
    }
}
