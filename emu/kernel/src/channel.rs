//! The descriptors that events would be read from: asynchronous ones, and those of completion channels. No event ever
//! comes, so each is a pipe that nobody writes to.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;
use nix::unistd::pipe2;

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
        let (reader, source) = pipe2(OFlag::O_CLOEXEC).map_err(number)?;
        let inode = fstat(&reader).map_err(number)?.st_ino;
        self.0.push(Channel { events, inode, source });
        Ok(reader)
    }

    /// Refuses a descriptor that is not one of these, or for other events.
    pub fn check(&self, fd: &OwnedFd, events: Events) -> Answer<()> {
        let inode = fstat(fd).map_err(number)?.st_ino;
        let is_it = |channel: &Channel| channel.inode == inode && channel.events == events;
        if self.0.iter().any(is_it) { Ok(()) } else { Err(libc::EBADF) }
    }
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
        let (other, _writer) = pipe2(OFlag::O_CLOEXEC).unwrap();
        assert_eq!(channels.check(&other, Events::Completion), Err(libc::EBADF));
        drop(first);
        let second = channels.open(Events::Asynchronous).unwrap();
        assert_eq!(channels.0.len(), 1);
        assert_eq!(channels.check(&second, Events::Asynchronous), Ok(()));
    }
}
