//! The few system calls that std lacks, each behind a safe function.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// A byte range and what is to be known or done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start: i64,
    /// Bytes.
    pub len: i64,
}

/// Whose lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This process (POSIX record locks).
    Process,
    /// The open file description.
    Description,
}

/// A lock that stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What it covers.
    pub range: Range,
    /// The owning process; -1 for a lock of an open file description.
    pub pid: i32,
}

fn flock(kind: libc::c_int, range: Range) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.start,
        l_len: range.len,
        l_pid: 0,
    }
}

fn fcntl(fd: RawFd, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: `lock` is a valid flock for the time of the call, which is all that these commands need.
        let result = unsafe { libc::fcntl(fd, command, std::ptr::from_mut(lock)) };
        if result != -1 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Tries to lock a range for writing; false where someone else has it.
pub fn try_lock(fd: RawFd, owner: Owner, range: Range) -> io::Result<bool> {
    let command = if owner == Owner::Process { libc::F_SETLK } else { libc::F_OFD_SETLK };
    match fcntl(fd, command, &mut flock(libc::F_WRLCK, range)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Unlocks a range.
pub fn unlock(fd: RawFd, owner: Owner, range: Range) -> io::Result<()> {
    let command = if owner == Owner::Process { libc::F_SETLK } else { libc::F_OFD_SETLK };
    fcntl(fd, command, &mut flock(libc::F_UNLCK, range))
}

/// One lock in a range that conflicts with a write lock of this owner, if there is any. As `Process` this process's own
/// OFD locks are in the way as well; as `Description` those of this very description are not.
pub fn conflict(fd: RawFd, owner: Owner, range: Range) -> io::Result<Option<Conflict>> {
    let command = if owner == Owner::Process { libc::F_GETLK } else { libc::F_OFD_GETLK };
    let mut lock = flock(libc::F_WRLCK, range);
    fcntl(fd, command, &mut lock)?;
    if i32::from(lock.l_type) == libc::F_UNLCK {
        return Ok(None);
    }
    // Length 0 means: to the end of the file.
    let len = if lock.l_len == 0 { i64::MAX - lock.l_start } else { lock.l_len };
    Ok(Some(Conflict { range: Range { start: lock.l_start, len }, pid: lock.l_pid }))
}

/// Device and inode, as the C library tells them (an emulated device answers there).
pub fn dev_ino(fd: RawFd) -> io::Result<(u64, u64)> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` has room for what fstat writes.
    if unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fstat succeeded, so it filled the struct.
    let stat = unsafe { stat.assume_init() };
    Ok((stat.st_dev, stat.st_ino))
}

/// Device and inode as the kernel tells them, past any emulation; `path` is relative to `dir` where it is not absolute,
/// and may be empty to mean `dir` itself.
pub fn kernel_dev_ino(dir: RawFd, path: &CStr) -> io::Result<(u64, u64)> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: path is a C string and `stat` has room for what the call writes.
    let result =
        unsafe { libc::syscall(libc::SYS_newfstatat, dir, path.as_ptr(), stat.as_mut_ptr(), libc::AT_EMPTY_PATH) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled the struct.
    let stat = unsafe { stat.assume_init() };
    Ok((stat.st_dev, stat.st_ino))
}

const KCMP_FILE: libc::c_long = 0;

/// Whether a descriptor of this process and one of another are of the same open file description. An error where the
/// kernel does not tell (rights, or the process is gone).
pub fn same_description(fd: RawFd, pid: i32, other: RawFd) -> io::Result<bool> {
    // SAFETY: kcmp takes five numbers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), pid, KCMP_FILE, fd, other) };
    match result {
        0 => Ok(true),
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(false),
    }
}

/// Whether a descriptor is open for reading and writing.
pub fn is_writable(fd: RawFd) -> io::Result<bool> {
    // SAFETY: F_GETFL takes and gives a number.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// Random bits.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is as long as is said.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::Error::last_os_error()) }
}

/// Makes the room of a file real, so that a mapping of it cannot run into a full disk.
pub fn allocate(file: BorrowedFd<'_>, len: u64) -> io::Result<()> {
    let len = i64::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: takes numbers only.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
