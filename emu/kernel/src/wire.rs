//! One request's conversation with the shim that made it.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, RecvMsg, getsockopt, recvmsg, sendmsg, sockopt};
use verbsguard_emu_proto::{COMMAND_WORDS, PAYLOAD_MAX, REQUEST_WORDS, command, put_words, word};

/// A result with an errno value, as the kernel has them.
pub type Answer<T> = Result<T, i32>;

const HEAD: usize = COMMAND_WORDS * 8;
/// The most that one message carries (kernel: SCM_MAX_FD). Those that nobody asked for are closed.
const FDS_MAX: usize = 253;

/// A message, and the descriptor that came with it.
pub struct Message {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// A descriptor sent along.
    pub fd: Option<OwnedFd>,
}

/// Receives one message; an empty one where the peer is gone.
pub fn receive(from: RawFd) -> Result<Message, Errno> {
    let mut bytes = vec![0; REQUEST_WORDS * 8 + PAYLOAD_MAX];
    let mut control = nix::cmsg_space!([RawFd; FDS_MAX]);
    let (length, fds) = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match recvmsg::<()>(from, &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC) {
            Ok(message) => break (message.bytes, rights(&message)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    };
    bytes.truncate(length);
    Ok(Message { bytes, fd: fds.into_iter().next() })
}

/// The descriptors that came; none where the kernel had no room for them here.
fn rights(message: &RecvMsg<'_, '_, ()>) -> Vec<OwnedFd> {
    let Ok(parts) = message.cmsgs() else { return Vec::new() };
    let fds = parts.filter_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => Some(fds),
        _ => None,
    });
    // SAFETY: the kernel has just given these descriptors to us alone.
    fds.flatten().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect()
}

/// The process that made the other end of a socket, 0 where that cannot be known.
pub fn peer(fd: &OwnedFd) -> i32 {
    getsockopt(fd, sockopt::PeerCredentials).map_or(0, |credentials| credentials.pid())
}

/// The daemon's end of a request's socket.
pub struct Talk(OwnedFd);

impl Talk {
    /// Over the descriptor that came with a request.
    pub fn new(fd: OwnedFd) -> Self {
        Talk(fd)
    }

    /// The process that makes the request, 0 where that cannot be known.
    pub fn caller(&self) -> i32 {
        peer(&self.0)
    }

    fn send(&self, bytes: &[u8], fd: Option<RawFd>) -> Answer<()> {
        let fds: Vec<RawFd> = fd.into_iter().collect();
        let control = [ControlMessage::ScmRights(&fds)];
        let control = if fds.is_empty() { &[][..] } else { &control[..] };
        loop {
            match sendmsg::<()>(self.0.as_raw_fd(), &[IoSlice::new(bytes)], control, MsgFlags::MSG_NOSIGNAL, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(_) => return Err(libc::EIO),
            }
        }
    }

    fn ask(&self, head: [u64; COMMAND_WORDS], payload: &[u8]) -> Answer<Message> {
        let mut bytes = vec![0; HEAD];
        put_words(&mut bytes, &head);
        bytes.extend_from_slice(payload);
        self.send(&bytes, None)?;
        let answer = receive(self.0.as_raw_fd()).map_err(|_| libc::EIO)?;
        if answer.bytes.len() < 8 {
            return Err(libc::EIO);
        }
        match i32::try_from(word(&answer.bytes, 0)) {
            Ok(0) => Ok(answer),
            Ok(error) => Err(error),
            Err(_) => Err(libc::EIO),
        }
    }

    /// copy_from_user.
    pub fn read(&self, address: u64, length: usize) -> Answer<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let part = (length - bytes.len()).min(PAYLOAD_MAX / 2);
            let mut pair = [0; 16];
            put_words(&mut pair, &[address.wrapping_add(bytes.len() as u64), part as u64]);
            let answer = self.ask([command::READ, 0, 0, 0, 0], &pair)?;
            bytes.extend_from_slice(answer.bytes.get(8..8 + part).ok_or(libc::EIO)?);
        }
        Ok(bytes)
    }

    /// copy_to_user, for several places.
    pub fn write(&self, places: &[(u64, &[u8])]) -> Answer<()> {
        for &(address, bytes) in places {
            for (index, chunk) in bytes.chunks(PAYLOAD_MAX / 2).enumerate() {
                let mut payload = vec![0; 16];
                put_words(&mut payload, &[address.wrapping_add((index * PAYLOAD_MAX / 2) as u64), chunk.len() as u64]);
                payload.extend_from_slice(chunk);
                payload.resize(payload.len().next_multiple_of(8), 0);
                self.ask([command::WRITE, 0, 0, 0, 0], &payload)?;
            }
        }
        Ok(())
    }

    /// Faults a range in as pinning it would; `pinned` bytes are already.
    pub fn pin(&self, address: u64, length: u64, write: bool, pinned: u64) -> Answer<()> {
        self.ask([command::PIN, address, length, u64::from(write), pinned], &[]).map(|_| ())
    }

    /// The program's descriptor of this number.
    pub fn descriptor(&self, number: i64) -> Answer<OwnedFd> {
        let number = u64::try_from(number).map_err(|_| libc::EBADF)?;
        self.ask([command::GET_FD, number, 0, 0, 0], &[])?.fd.ok_or(libc::EBADF)
    }

    /// Ends the conversation. Fails where the program is gone or has given the request up.
    pub fn done(&self, result: Answer<()>, payload: &[u64]) -> Answer<()> {
        let error = result.err().unwrap_or(0);
        let mut bytes = vec![0; HEAD + payload.len() * 8];
        put_words(&mut bytes, &[command::DONE, error.unsigned_abs().into(), 0, 0, 0]);
        put_words(&mut bytes[HEAD..], payload);
        self.send(&bytes, None)
    }

    /// The same for a success with a descriptor, whose number is stored in `size` bytes at `store` (0: nowhere).
    pub fn done_with(&self, fd: RawFd, store: u64, size: u64) -> Answer<()> {
        let mut bytes = vec![0; HEAD];
        put_words(&mut bytes, &[command::DONE, 0, store, size, 0]);
        self.send(&bytes, Some(fd))
    }

    /// The program has given this request up.
    pub fn is_abandoned(&self) -> bool {
        let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}
