//! What the shim (in the program) and the kernel half (in the daemon) say to each other.
//!
//! A device file is one connection to the socket `FOLDER/uverbsN`. For every request the shim makes a socket pair and
//! sends one end along; the daemon converses only over that pair, so that neither threads nor processes that share a
//! device file can read each other's answers. All messages are native-endian 64-bit words, some followed by bytes.
#![no_std]
#![forbid(unsafe_code)]

/// The environment variable that names the daemon's folder to the shim and to `verbsguard emu-control`.
pub const FOLDER_VARIABLE: &str = "VERBSGUARD_EMU";
/// The name of a device's socket in the folder, without its number.
pub const SOCKET_PREFIX: &str = "uverbs";
/// The longest folder name, so that every socket's address fits `sockaddr_un`.
pub const FOLDER_MAX: usize = 80;
/// The first word of every request.
pub const MAGIC: u64 = 0x7665_7262_7367_6401;
/// Words of a request's head.
pub const REQUEST_WORDS: usize = 6;
/// Words of the head of a message from the daemon.
pub const COMMAND_WORDS: usize = 5;
/// The most bytes that follow a head. A request's ioctl header and attributes fit in one page.
pub const PAYLOAD_MAX: usize = 4096;
/// The character device's major number, as ib_uverbs has it.
pub const MAJOR: u32 = 231;
/// The first minor number.
pub const FIRST_MINOR: u32 = 192;
/// The minor number of the file system that the node is on, as a devtmpfs has it; its major is 0.
pub const NODE_DEV_MINOR: u32 = 5;
/// How many devices there may be.
pub const DEVICES_MAX: usize = 32;

/// What a request asks for; the arguments are the words after it.
pub mod request {
    /// A device file was opened: flags of open(2).
    pub const OPEN: u64 = 1;
    /// ioctl(RDMA_VERBS_IOCTL): address of the header; the payload is header and attributes.
    pub const IOCTL: u64 = 2;
    /// mmap: offset, length, protection, flags.
    pub const MMAP: u64 = 3;
    /// fcntl lock: command; the payload is [`super::Flock`] in words.
    pub const LOCK: u64 = 4;
    /// write(2), the commands of old: count.
    pub const WRITE: u64 = 5;
}

/// What the daemon asks of the shim while it serves a request.
pub mod command {
    /// Copy from the program: pairs of address and length in the payload. Answer: errno, then the bytes.
    pub const READ: u64 = 1;
    /// Copy to the program: address, length and bytes (padded to words), repeated. Answer: errno.
    pub const WRITE: u64 = 2;
    /// Fault pages in as registering would: address, length, whether to write, bytes pinned so far. Answer: errno.
    pub const PIN: u64 = 3;
    /// Send a descriptor of the program's: its number. Answer: errno, with the descriptor.
    pub const GET_FD: u64 = 4;
    /// The end: errno, where to store the number of the descriptor sent along (0: nowhere), and in how many bytes. The
    /// payload is the lock found, for LOCK.
    pub const DONE: u64 = 5;
}

/// `struct flock` in words: type, whence, start, length, pid.
pub type Flock = [u64; 5];

/// Words to bytes; what does not fit in `bytes` is left out.
pub fn put_words(bytes: &mut [u8], words: &[u64]) {
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
}

/// The word at `index`; 0 where the bytes end before it.
pub fn word(bytes: &[u8], index: usize) -> u64 {
    match bytes.get(index * 8..index * 8 + 8) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// The inode number of a device's node: of this run only, and the same after the device was removed.
pub fn inode(folder: &[u8], device: usize) -> u64 {
    let hash = folder.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    (hash & 0x0000_ffff_ffff_ff00) + device as u64 + 1
}

/// The device's number, where `path` is `prefix` followed by a number without leading zeros.
pub fn number_after(path: &[u8], prefix: &[u8]) -> Option<usize> {
    let digits = path.strip_prefix(prefix)?;
    let canonical = match digits {
        [] => false,
        [b'0'] => true,
        [first, ..] => *first != b'0' && digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit),
    };
    canonical.then(|| digits.iter().fold(0, |n, d| n * 10 + usize::from(d - b'0')))
}
