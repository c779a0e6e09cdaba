//! Standard error, through a descriptor of our own: the program may close or reuse its descriptor 2.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

use super::quiet::write_all;

/// A program that opens files gets the lowest free numbers, so ours is a high one. Not as high as the limit allows: the
/// kernel's table grows with it.
const HIGH: u64 = 1000;

/// Numbers left free above ours where the limit is low.
const MARGIN: u64 = 24;

/// What a descriptor stands for, as far as fstat tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File {
    device: u64,
    inode: u64,
    is_regular: bool,
}

/// A standard descriptor of the program, and our own one for the same file.
pub(super) struct Channel {
    standard: c_int,
    at_start: AtStart,
    /// What we write to, decided once; `None` where there is nothing to write to.
    output: OnceLock<Option<File>>,
    own: AtomicI32,
}

/// What a descriptor stood for when the library was loaded, without the kind, which an inode keeps. Not a OnceLock: its
/// code lies far from the constructor, and each such place is memory that every program would map.
struct AtStart {
    state: AtomicU8,
    device: AtomicU64,
    inode: AtomicU64,
}

impl AtStart {
    const UNKNOWN: u8 = 0;
    const CLOSED: u8 = 1;
    const OPEN: u8 = 2;

    const fn new() -> AtStart {
        AtStart { state: AtomicU8::new(Self::UNKNOWN), device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    fn set(&self, found: Option<File>) {
        if let Some(File { device, inode, .. }) = found {
            self.device.store(device, Ordering::Relaxed);
            self.inode.store(inode, Ordering::Relaxed);
        }
        let state = if found.is_some() { Self::OPEN } else { Self::CLOSED };
        self.state.store(state, Ordering::Release);
    }

    fn may_have_been(&self, file: &File) -> bool {
        match self.state.load(Ordering::Acquire) {
            Self::OPEN => {
                self.device.load(Ordering::Relaxed) == file.device && self.inode.load(Ordering::Relaxed) == file.inode
            }
            state => state == Self::UNKNOWN,
        }
    }
}

/// Standard error.
pub(super) static STDERR: Channel = Channel::new(2);

impl Channel {
    pub(super) const fn new(standard: c_int) -> Channel {
        Channel { standard, at_start: AtStart::new(), output: OnceLock::new(), own: AtomicI32::new(-1) }
    }

    /// Remembers what the descriptor is. To be called when the program starts; takes no descriptor.
    pub(super) fn remember(&self) {
        self.at_start.set(identity(self.standard));
    }

    /// Takes our own descriptor, if reports can go there.
    pub(super) fn open(&self) {
        if let Some(output) = self.output() {
            self.descriptor(output);
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        // SAFETY: only asks.
        self.output().is_some() && unsafe { libc::isatty(self.standard) == 1 }
    }

    /// Writes to the file that the descriptor stood for at first use, as long as it can be reached.
    pub(super) fn write(&self, bytes: &[u8]) {
        if let Some(fd) = self.output().and_then(|output| self.descriptor(output)) {
            // There is nobody left to tell.
            _ = write_all(fd, bytes);
        }
    }

    /// The number of our own descriptor.
    #[cfg(test)]
    pub(super) fn own(&self) -> c_int {
        self.own.load(Ordering::Acquire)
    }

    fn output(&self) -> Option<File> {
        *self.output.get_or_init(|| {
            let now = identity(self.standard)?;
            let same = self.at_start.may_have_been(&now);
            // Another regular file under this number, written from its beginning, is the program's data.
            (same || !now.is_regular || appends(self.standard)).then_some(now)
        })
    }

    /// Our own descriptor. A program that closes every number that it does not know closed it too, and may have given
    /// the number to another file; so it is looked at each time.
    fn descriptor(&self, output: File) -> Option<c_int> {
        let own = self.own.load(Ordering::Acquire);
        if own >= 0 && identity(own) == Some(output) {
            return Some(own);
        }
        if identity(self.standard) != Some(output) {
            return None;
        }
        let new = duplicate(self.standard);
        if new < 0 {
            return Some(self.standard);
        }
        match self.own.compare_exchange(own, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(new),
            Err(theirs) => {
                // SAFETY: made above, and nobody else knows it.
                unsafe { libc::close(new) };
                Some(theirs)
            }
        }
    }
}

fn identity(fd: c_int) -> Option<File> {
    let stat = crate::world::stat(fd)?;
    Some(File { device: stat.st_dev, inode: stat.st_ino, is_regular: stat.st_mode & libc::S_IFMT == libc::S_IFREG })
}

fn appends(fd: c_int) -> bool {
    // SAFETY: only asks.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_APPEND != 0
}

fn duplicate(fd: c_int) -> c_int {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills a record that lives here; a new descriptor changes none of the program's.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let least = limit.rlim_cur.saturating_sub(MARGIN).min(HIGH);
        libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least as c_int)
    }
}
