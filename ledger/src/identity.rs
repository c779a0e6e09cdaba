//! Knowing that two contexts share a device file, in whatever processes they are.
//!
//! The first guarded process that meets a device file locks a byte of it, chosen at random, in the name of the open file
//! description (OFD lock): every descriptor that was dup'ed, passed or inherited from it has that lock, no other open
//! has it, and it ends with the last of them. The byte's number is the identity. It is far beyond any data, and a device
//! node has none.
//!
//! Trying to lock tells nothing: two processes with one description both succeed, with different bytes. So the byte is
//! read, and chosen only under an election lock that belongs to the process.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use verbsguard_core::ledger::FileId;

use crate::sys::{self, Owner, Range};

/// The bytes that identities are chosen from.
const BYTES: Range = Range { start: i64::MAX - (1 << 48) + 1, len: 1 << 47 };

/// The byte that is locked while one is chosen.
const ELECTION: Range = Range { start: BYTES.start + BYTES.len, len: 1 };

/// How long another process may take to choose. It needs some microseconds; more means that it is stopped.
const PATIENCE: Duration = Duration::from_millis(200);

/// More opens of one node than this are not looked through.
const MOST_LOCKS: usize = 1 << 14;

/// Why a device file's identity cannot be known. Only this process is seen then.
#[derive(Debug)]
pub enum Unseen {
    /// The descriptor is not open for writing.
    ReadOnly,
    /// The descriptor is closed, or cannot be locked.
    NotLockable(io::Error),
    /// Another process keeps the election lock.
    Busy,
    /// The node has too many locks to look through.
    Crowded,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the device file's other holders are not known: ")?;
        match self {
            Unseen::ReadOnly => f.write_str("its descriptor is read-only"),
            Unseen::NotLockable(error) => write!(f, "its descriptor cannot be locked ({error})"),
            Unseen::Busy => f.write_str("another process keeps its election lock"),
            Unseen::Crowded => f.write_str("its device node has too many locks"),
        }
    }
}

impl std::error::Error for Unseen {}

impl From<io::Error> for Unseen {
    fn from(error: io::Error) -> Self {
        Unseen::NotLockable(error)
    }
}

/// Reads the identity of a descriptor's device file; chooses one where it has none.
pub fn identify(fd: RawFd) -> Result<FileId, Unseen> {
    let (dev, ino) = sys::dev_ino(fd)?;
    if !sys::is_writable(fd)? {
        return Err(Unseen::ReadOnly);
    }
    let number = match read(fd)? {
        Some(number) => number,
        None => elect(fd)?,
    };
    Ok(FileId { dev, ino, number })
}

/// Whether a descriptor may still be of this device file. Cheap; sees that the number was reused for something else, but
/// not that it was reused for another open of the same node: [`is_of`] does.
pub fn still_same(fd: RawFd, id: &FileId) -> bool {
    sys::dev_ino(fd).is_ok_and(|dev_ino| dev_ino == (id.dev, id.ino))
}

/// Whether a descriptor is of this device file.
pub fn is_of(fd: RawFd, id: &FileId) -> bool {
    still_same(fd, id) && is_locked(fd, id).unwrap_or(false) && is_own(fd, byte(id.number)).unwrap_or(false)
}

/// Whether a device file is still alive, asked through any descriptor of the same node.
pub fn is_alive(fd: RawFd, id: &FileId) -> Result<bool, Unseen> {
    if !still_same(fd, id) {
        return Err(Unseen::NotLockable(io::Error::from_raw_os_error(libc::EXDEV)));
    }
    Ok(is_locked(fd, id)?)
}

fn is_locked(fd: RawFd, id: &FileId) -> io::Result<bool> {
    Ok(sys::conflict(fd, Owner::Process, byte(id.number))?.is_some())
}

/// Whether a byte that we have seen locked, as the process, is this description's own.
fn is_own(fd: RawFd, range: Range) -> io::Result<bool> {
    is_own_by(|owner| Ok(sys::conflict(fd, owner, range)?.is_some()))
}

/// As the description we do not see it, and as the process we see it still: another's lock, which we would see in both
/// ways, may just have ended.
fn is_own_by(mut sees: impl FnMut(Owner) -> io::Result<bool>) -> io::Result<bool> {
    Ok(!sees(Owner::Description)? && sees(Owner::Process)?)
}

fn byte(number: u64) -> Range {
    Range { start: BYTES.start + number.cast_signed(), len: 1 }
}

/// Whether a lock's start, as /proc tells it, is this identity's.
pub(crate) fn is_byte_of(start: i64, id: &FileId) -> bool {
    start == byte(id.number).start
}

/// The identity that a description has; the lowest, where a lost election left two.
fn read(fd: RawFd) -> Result<Option<u64>, Unseen> {
    let mut lowest: Option<i64> = None;
    let mut seen = 0;
    // A query answers with any one of the locks in a range, so the rest of the range is asked again.
    let mut ranges = vec![BYTES];
    while let Some(range) = ranges.pop() {
        let Some(hit) = sys::conflict(fd, Owner::Process, range)? else { continue };
        seen += 1;
        if seen > MOST_LOCKS {
            return Err(Unseen::Crowded);
        }
        let start = hit.range.start.max(range.start);
        let end = hit.range.start.saturating_add(hit.range.len).min(range.start + range.len);
        if hit.range.len == 1 && is_own(fd, Range { start, len: 1 })? {
            lowest = Some(lowest.map_or(start, |known| known.min(start)));
        }
        ranges.extend(
            [(range.start, start), (end, range.start + range.len)]
                .map(|(from, to)| Range { start: from, len: to - from }),
        );
        ranges.retain(|range| range.len > 0);
    }
    Ok(lowest.map(|start| (start - BYTES.start).cast_unsigned()))
}

fn elect(fd: RawFd) -> Result<u64, Unseen> {
    let deadline = Instant::now() + PATIENCE;
    let _threads = Turn::take(deadline)?;
    loop {
        lock_election(fd, deadline)?;
        let chosen = read_or_choose(fd);
        // If another thread closed a descriptor of this node, the kernel has dropped our election lock, and another
        // process may have chosen at the same time: then read what stands there now.
        let held = sys::conflict(fd, Owner::Description, ELECTION)?.is_some_and(|lock| lock.pid == pid());
        sys::unlock(fd, Owner::Process, ELECTION)?;
        match chosen? {
            Chosen::Found(number) => return Ok(number),
            Chosen::Made(number) if held => return Ok(number),
            Chosen::Made(_) => {}
        }
    }
}

enum Chosen {
    Found(u64),
    Made(u64),
}

fn read_or_choose(fd: RawFd) -> Result<Chosen, Unseen> {
    if let Some(number) = read(fd)? {
        return Ok(Chosen::Found(number));
    }
    // Someone else's byte is hit about never; more than once only where someone has locked them all.
    for _ in 0..8 {
        let number = sys::random()? % BYTES.len.cast_unsigned();
        if sys::try_lock(fd, Owner::Description, byte(number))? {
            return Ok(Chosen::Made(number));
        }
    }
    Err(Unseen::Crowded)
}

fn lock_election(fd: RawFd, deadline: Instant) -> Result<(), Unseen> {
    while !sys::try_lock(fd, Owner::Process, ELECTION)? {
        wait(deadline)?;
    }
    Ok(())
}

fn wait(deadline: Instant) -> Result<(), Unseen> {
    if Instant::now() > deadline {
        return Err(Unseen::Busy);
    }
    thread::sleep(Duration::from_micros(50));
    Ok(())
}

fn pid() -> i32 {
    std::process::id().cast_signed()
}

/// One thread of the process at a time: a process's own lock does not keep its threads apart. It holds the process id, so
/// that a child of fork does not wait for a thread that it does not have.
static TURN: AtomicU32 = AtomicU32::new(0);

struct Turn;

impl Turn {
    fn take(deadline: Instant) -> Result<Self, Unseen> {
        let me = std::process::id();
        loop {
            let holder = TURN.load(Ordering::Relaxed);
            if holder != me && TURN.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Ok(Turn);
            }
            wait(deadline)?;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURN.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_ends_while_one_looks_is_not_ones_own() {
        let own = is_own_by(|owner| Ok(matches!(owner, Owner::Process)));
        let others = is_own_by(|_| Ok(true));
        let ended = is_own_by(|_| Ok(false));
        assert_eq!([own, others, ended].map(Result::unwrap), [true, false, false]);
    }
}
