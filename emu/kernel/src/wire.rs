//! One request's conversation with the shim that made it.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use verbsguard_emu_proto::{COMMAND_WORDS, PAYLOAD_MAX, REQUEST_WORDS, command, put_words, word};

/// A result with an errno value, as the kernel has them.
pub type Answer<T> = Result<T, i32>;

const HEAD: usize = COMMAND_WORDS * 8;

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
    let mut control = nix::cmsg_space!([RawFd; 4]);
    let (length, fds) = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match recvmsg::<()>(from, &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC) {
            Ok(message) => {
                let mut fds = Vec::new();
                for part in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(rights) = part {
                        // SAFETY: the kernel has just given these descriptors to us alone.
                        fds.extend(rights.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                    }
                }
                break (message.bytes, fds);
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    };
    bytes.truncate(length);
    Ok(Message { bytes, fd: fds.into_iter().next() })
}

/// The daemon's end of a request's socket.
pub struct Talk(OwnedFd);

impl Talk {
    /// Over the descriptor that came with a request. A program that is stopped in the middle is given up after a while.
    pub fn new(fd: OwnedFd) -> Self {
        use nix::sys::socket::{setsockopt, sockopt};
        let patience = nix::sys::time::TimeVal::new(10, 0);
        let _ = setsockopt(&fd, sockopt::ReceiveTimeout, &patience);
        let _ = setsockopt(&fd, sockopt::SendTimeout, &patience);
        Talk(fd)
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
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut pair = [0; 16];
        put_words(&mut pair, &[address, length as u64]);
        let answer = self.ask([command::READ, 0, 0, 0, 0], &pair)?;
        answer.bytes.get(8..8 + length).map(<[u8]>::to_vec).ok_or(libc::EIO)
    }

    /// copy_to_user, for several places.
    pub fn write(&self, places: &[(u64, &[u8])]) -> Answer<()> {
        for &(address, bytes) in places {
            for (index, chunk) in bytes.chunks(PAYLOAD_MAX / 2).enumerate() {
                let mut payload = vec![0; 16];
                put_words(&mut payload, &[address + (index * PAYLOAD_MAX / 2) as u64, chunk.len() as u64]);
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

    /// Ends the conversation. `fd` is sent along, and its number stored at `store` (0: nowhere).
    pub fn done(&self, result: Answer<()>, fd: Option<RawFd>, store: u64, payload: &[u64]) {
        let error = result.err().unwrap_or(0);
        let mut bytes = vec![0; HEAD + payload.len() * 8];
        put_words(&mut bytes, &[command::DONE, error.unsigned_abs().into(), store, 0, 0]);
        put_words(&mut bytes[HEAD..], payload);
        // A program that is gone needs no answer.
        let _ = self.send(&bytes, fd);
    }
}

impl Talk {
    /// The program has given this request up.
    pub fn is_abandoned(&self) -> bool {
        use std::os::fd::AsFd;
        crate::server::is_readable(self.0.as_fd())
    }
}
