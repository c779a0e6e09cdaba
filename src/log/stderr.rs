//! Standard error, through a descriptor of our own: the program may close or reuse its descriptor 2.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

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
    at_start: OnceLock<Option<File>>,
    /// What we write to, decided once; `None` where there is nothing to write to.
    output: OnceLock<Option<File>>,
    own: AtomicI32,
}

/// Standard error.
pub(super) static STDERR: Channel = Channel::new(2);

impl Channel {
    pub(super) const fn new(standard: c_int) -> Channel {
        Channel { standard, at_start: OnceLock::new(), output: OnceLock::new(), own: AtomicI32::new(-1) }
    }

    /// Remembers what the descriptor is. To be called when the program starts; takes no descriptor.
    pub(super) fn remember(&self) {
        _ = self.at_start.set(identity(self.standard));
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
            let same = self.at_start.get().is_none_or(|start| *start == Some(now));
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
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the record where it returns 0.
    let stat = unsafe {
        if libc::fstat(fd, stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
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
