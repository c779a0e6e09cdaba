//! One request: a socket pair of its own, and what the daemon asks for until it is done.
use crate::sys::{self, Result};
use core::ffi::{c_int, c_void};
use verbsguard_emu_proto::{COMMAND_WORDS, Flock, MAGIC, PAYLOAD_MAX, REQUEST_WORDS, command, put_words, word};

const HEAD: usize = REQUEST_WORDS * 8;
const BUFFER: usize = HEAD + PAYLOAD_MAX;

/// A control message that can carry one descriptor.
#[repr(C, align(8))]
struct Control([u8; 32]);

/// What came of a request.
#[derive(Default)]
pub struct Answer {
    /// The descriptor sent along, if it was not stored.
    pub fd: Option<c_int>,
    /// The lock that F_GETLK found.
    pub lock: Flock,
}

/// A request being made; big enough for every message both ways.
pub struct Talk {
    buffer: [u8; BUFFER],
    used: usize,
}

impl Talk {
    /// A request of this kind.
    pub fn new(kind: u64, args: [u64; 4]) -> Self {
        let mut talk = Self { buffer: [0; BUFFER], used: HEAD };
        put_words(&mut talk.buffer, &[MAGIC, kind, args[0], args[1], args[2], args[3]]);
        talk
    }

    /// Room for a payload of `length` bytes, at most [`PAYLOAD_MAX`].
    pub fn payload(&mut self, length: usize) -> &mut [u8] {
        self.used = HEAD + length.min(PAYLOAD_MAX);
        &mut self.buffer[HEAD..self.used]
    }

    /// Sends the request over the device file, and serves the daemon until it is done. `interruptible`: a signal
    /// handler that does not restart calls ends it with EINTR.
    pub fn hold(&mut self, device_file: c_int, interruptible: bool) -> Result<Answer> {
        let mut pair = [-1; 2];
        let kind = (libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC) as usize;
        let args = [libc::AF_UNIX as usize, kind, 0, pair.as_mut_ptr() as usize, 0, 0];
        // SAFETY: the kernel fills two numbers.
        unsafe { sys::call(libc::SYS_socketpair, args)? };
        let sent = send(device_file, &self.buffer[..self.used], Some(pair[1]));
        sys::close(pair[1]);
        let served = sent.and_then(|()| self.serve(pair[0], interruptible));
        sys::close(pair[0]);
        let (length, fd) = served?;
        self.done(length, fd.map(lowest))
    }

    /// Until the daemon's last message: its length and the descriptor that came along.
    fn serve(&mut self, peer: c_int, interruptible: bool) -> Result<(usize, Option<c_int>)> {
        let mut flags = libc::MSG_CMSG_CLOEXEC;
        let mut interrupted = false;
        loop {
            let (length, fd) = match receive(peer, &mut self.buffer, flags) {
                Ok((0, _)) => return Err(if interrupted { libc::EINTR } else { libc::EIO }),
                Ok(got) => got,
                Err(libc::EINTR) if interruptible && !interrupted => {
                    // From here on the daemon cannot grant the lock unseen: its answer is in the queue, or fails.
                    shut_down(peer);
                    interrupted = true;
                    flags |= libc::MSG_DONTWAIT;
                    continue;
                }
                Err(libc::EINTR) => continue,
                Err(_) => return Err(if interrupted { libc::EINTR } else { libc::EIO }),
            };
            if word(&self.buffer, 0) == command::DONE {
                return Ok((length, fd));
            }
            if let Some(fd) = fd {
                sys::close(fd);
            }
            self.obey(peer, length)?;
        }
    }

    fn done(&self, length: usize, fd: Option<c_int>) -> Result<Answer> {
        let [error, store, size] = [1, 2, 3].map(|index| word(&self.buffer, index));
        let mut answer = Answer { fd, ..Answer::default() };
        for (index, slot) in answer.lock.iter_mut().enumerate() {
            *slot = word(&self.buffer[..length], COMMAND_WORDS + index);
        }
        let stored = match (fd, store) {
            (Some(fd), 1..) => sys::copy_out(store, &i64::from(fd).to_ne_bytes()[..(size as usize).min(8)]),
            _ => Ok(()),
        };
        match (error, stored, fd) {
            (0, Ok(()), _) => Ok(answer),
            (_, stored, fd) => {
                if let Some(fd) = fd {
                    sys::close(fd);
                }
                Err(stored.err().unwrap_or(error as c_int))
            }
        }
    }

    /// Carries one command out and answers it.
    fn obey(&mut self, peer: c_int, length: usize) -> Result<()> {
        let [op, a, b, c, d] = [0, 1, 2, 3, 4].map(|index| word(&self.buffer[..length], index));
        let start = COMMAND_WORDS * 8;
        match op {
            command::READ => self.give(peer, length),
            command::WRITE => {
                let result = store(&self.buffer[start..length.max(start)]);
                self.answer(peer, result, None)
            }
            command::PIN => self.answer(peer, pin(a, b, c != 0, d), None),
            command::GET_FD => {
                let (fd, known) = (a as c_int, fcntl_getfd(a as c_int));
                self.answer(peer, known, known.is_ok().then_some(fd))
            }
            _ => Err(libc::EIO),
        }
    }

    fn answer(&mut self, peer: c_int, result: Result<()>, fd: Option<c_int>) -> Result<()> {
        put_words(&mut self.buffer, &[result.err().unwrap_or(0) as u64]);
        send(peer, &self.buffer[..8], fd)
    }

    /// READ: the pairs make room for the bytes they name, so they are copied aside first.
    fn give(&mut self, peer: c_int, length: usize) -> Result<()> {
        let mut pairs = [(0, 0); 16];
        let count = (length.saturating_sub(COMMAND_WORDS * 8) / 16).min(pairs.len());
        for (index, pair) in pairs[..count].iter_mut().enumerate() {
            let at = COMMAND_WORDS + index * 2;
            *pair = (word(&self.buffer, at), word(&self.buffer, at + 1) as usize);
        }
        let mut used = 8_usize;
        let mut result = Ok(());
        for &(address, size) in &pairs[..count] {
            result = match self.buffer.get_mut(used..used.saturating_add(size)) {
                Some(room) => result.and(sys::copy_in(room, address)),
                None => Err(libc::EINVAL),
            };
            used = if result.is_ok() { used + size } else { used };
        }
        put_words(&mut self.buffer, &[result.err().unwrap_or(0) as u64]);
        send(peer, &self.buffer[..used], None)
    }
}

/// A new descriptor's number is the lowest free one, which our own socket had until now.
fn lowest(fd: c_int) -> c_int {
    // SAFETY: takes numbers only.
    let copy = unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_DUPFD_CLOEXEC as usize, 0, 0, 0, 0]) };
    let Ok(copy) = copy.map(|copy| copy as c_int) else { return fd };
    sys::close(fd.max(copy));
    fd.min(copy)
}

fn store(mut rest: &[u8]) -> Result<()> {
    while rest.len() >= 16 {
        let (address, size) = (word(rest, 0), word(rest, 1) as usize);
        let bytes = rest[16..].get(..size).ok_or(libc::EIO)?;
        sys::copy_out(address, bytes)?;
        rest = rest[16..].get(size.next_multiple_of(8)..).unwrap_or(&[]);
    }
    Ok(())
}

fn pin(address: u64, length: u64, write: bool, pinned: u64) -> Result<()> {
    let wanted = pinned.checked_add(length).ok_or(libc::ENOMEM)?;
    if sys::locked_memory_limit().is_some_and(|limit| wanted > limit) {
        return Err(libc::ENOMEM);
    }
    sys::populate(address, length, write)
}

fn fcntl_getfd(fd: c_int) -> Result<()> {
    // SAFETY: takes numbers only.
    unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFD as usize, 0, 0, 0, 0]) }.map(|_| ())
}

fn shut_down(fd: c_int) {
    // SAFETY: takes numbers only.
    let _ = unsafe { sys::call(libc::SYS_shutdown, [fd as usize, libc::SHUT_RDWR as usize, 0, 0, 0, 0]) };
}

fn header(vector: &mut libc::iovec, control: &mut Control, length: usize) -> libc::msghdr {
    // SAFETY: all zeros is a message header with nothing in it.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = length as _;
    message
}

/// What carrying one descriptor takes.
fn control_space() -> usize {
    // SAFETY: computes a size.
    unsafe { libc::CMSG_SPACE(size_of::<c_int>() as u32) as usize }
}

fn send(to: c_int, bytes: &[u8], fd: Option<c_int>) -> Result<()> {
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: bytes.len() };
    let mut control = Control([0; 32]);
    let message = header(&mut vector, &mut control, if fd.is_some() { control_space() } else { 0 });
    if let Some(fd) = fd {
        // SAFETY: the control buffer is aligned and holds one header and one number.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
            libc::CMSG_DATA(first).cast::<c_int>().write_unaligned(fd);
        }
    }
    let args = [to as usize, &raw const message as usize, libc::MSG_NOSIGNAL as usize, 0, 0, 0];
    loop {
        // SAFETY: the header and all it points to live on this stack frame.
        match sys::retry(|| unsafe { sys::call(libc::SYS_sendmsg, args) }) {
            Ok(_) => return Ok(()),
            // The program made its descriptor non-blocking, which a character device would not mind.
            Err(libc::EAGAIN) => wait_writable(to)?,
            Err(libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN) => return Err(libc::EIO),
            Err(error) => return Err(error),
        }
    }
}

fn wait_writable(fd: c_int) -> Result<()> {
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one pollfd, no time limit, no signal mask.
    sys::retry(|| unsafe { sys::call(libc::SYS_ppoll, [&raw mut poll as usize, 1, 0, 0, 0, 0]) }).map(|_| ())
}

fn receive(from: c_int, buffer: &mut [u8], flags: c_int) -> Result<(usize, Option<c_int>)> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; 32]);
    let mut message = header(&mut vector, &mut control, control_space());
    let args = [from as usize, &raw mut message as usize, flags as usize, 0, 0, 0];
    // SAFETY: the header and all it points to live on this stack frame.
    let length = unsafe { sys::call(libc::SYS_recvmsg, args)? };
    // SAFETY: the kernel filled the control buffer; a header of rights holds one number.
    let fd = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        let rights = !first.is_null() && (*first).cmsg_type == libc::SCM_RIGHTS;
        rights.then(|| libc::CMSG_DATA(first).cast::<c_int>().read_unaligned())
    };
    Ok((length, fd))
}
