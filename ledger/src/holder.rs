//! A holder's own file: who it is, what its stacks are, and a lock that ends with it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use verbsguard_core::ledger::log::MOST_HOLDERS;
use verbsguard_core::ledger::{HolderId, Line, Process, ProcessFile};
use verbsguard_core::site::{Frame, Site};

use crate::folder::{Folder, at_files};
use crate::sys::{self, Owner, Range};

const LIFE: Range = Range { start: 0, len: 1 };

/// No holder's file is longer; what does not fit is not told.
const MOST_BYTES: u64 = 16 << 20;

pub fn file_name(holder: HolderId) -> String {
    format!("holder-{}", holder.0)
}

/// The holder that a file name is of.
pub fn holder_of(name: &str) -> Option<HolderId> {
    let number = name.strip_prefix("holder-")?.parse().ok()?;
    (file_name(HolderId(number)) == name).then_some(HolderId(number))
}

/// Whether a holder lives. One whose file is gone was cleared away, so it does not.
pub fn is_alive(folder: &Folder, holder: HolderId) -> bool {
    let file = folder.file(&file_name(holder), false);
    file.is_ok_and(|file| sys::conflict(file.as_raw_fd(), Owner::Description, LIFE).is_ok_and(|lock| lock.is_some()))
}

/// Reads a holder's file; what is damaged or too long is passed over.
pub fn read(folder: &Folder, holder: HolderId) -> ProcessFile {
    let mut bytes = Vec::new();
    if let Ok(file) = folder.file(&file_name(holder), false) {
        // What was read before an error is as good as the whole.
        let _ = io::Read::read_to_end(&mut io::Read::take(file, MOST_BYTES), &mut bytes);
    }
    ProcessFile::read(&String::from_utf8_lossy(&bytes))
}

/// This process as a holder.
pub struct Life {
    holder: HolderId,
    lock: Page,
    mine: ForkMark,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    sites: HashSet<u32>,
    modules: HashMap<String, u32>,
    bytes: u64,
}

impl Life {
    /// Makes the file of a new holder. The lock is on it before anybody can see it.
    pub fn begin(folder: &Folder, process: &Process) -> io::Result<Self> {
        let (draft, mut file) = folder.draft()?;
        let made = Self::fill(&mut file, process).and_then(|lock| Ok((lock, Self::name(folder, &draft)?)));
        let (lock, holder) = made.inspect_err(|_| folder.remove(&draft))?;
        Ok(Life { holder, lock, mine: ForkMark::new()?, told: Mutex::default() })
    }

    fn fill(file: &mut File, process: &Process) -> io::Result<Page> {
        sys::try_lock(file.as_raw_fd(), Owner::Description, LIFE)?;
        file.write_all(line(&Line::Process(process.clone())).as_bytes())?;
        keep_lock(file)
    }

    fn name(folder: &Folder, draft: &str) -> io::Result<HolderId> {
        let taken = folder.names().iter().filter_map(|name| holder_of(name)).map(|holder| holder.0).max();
        let mut number = taken.unwrap_or(0);
        while number < MOST_HOLDERS {
            number += 1;
            match folder.link(draft, &file_name(HolderId(number))) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => {
                    folder.remove(draft);
                    return other.map(|()| HolderId(number));
                }
            }
        }
        Err(io::ErrorKind::StorageFull.into())
    }

    /// Its number.
    pub fn holder(&self) -> HolderId {
        self.holder
    }

    /// Whether this is still the process that began it, and not a child of fork.
    pub fn is_mine(&self) -> bool {
        self.mine.is_set()
    }

    /// Tells a stack, if it was not told before.
    pub fn tell_stack(&self, folder: &Folder, site: Site, frames: impl FnOnce() -> Vec<Frame>) {
        if site == Site::NONE {
            return;
        }
        let mut told = self.told.lock();
        if !told.sites.insert(site.0) {
            return;
        }
        let text = told.lines(site, &frames());
        told.bytes += text.len() as u64;
        if told.bytes < MOST_BYTES {
            // A stack that cannot be told is missing in others' reports, and nothing else.
            let _ = append(folder, &file_name(self.holder), &text);
        }
    }

    /// Ends it: from now on others see it as gone.
    pub fn end(self) {
        drop(self.lock);
    }
}

impl Told {
    fn lines(&mut self, site: Site, frames: &[Frame]) -> String {
        let mut text = String::new();
        let mut numbers = Vec::with_capacity(frames.len());
        for frame in frames {
            numbers.push((self.module(frame, &mut text), frame.offset));
        }
        text + &line(&Line::Stack(site.0, numbers))
    }

    fn module(&mut self, frame: &Frame, text: &mut String) -> i64 {
        if frame.module.is_empty() {
            return -1;
        }
        if let Some(number) = self.modules.get(&frame.module) {
            return i64::from(*number);
        }
        let number = u32::try_from(self.modules.len()).unwrap_or(u32::MAX);
        self.modules.insert(frame.module.clone(), number);
        *text += &line(&Line::Module(number, frame.module.clone(), frame.build_id.clone()));
        i64::from(number)
    }
}

fn line(line: &Line) -> String {
    serde_json::to_string(line).map(|text| text + "\n").unwrap_or_default()
}

/// One write, so that a kill leaves whole lines.
fn append(folder: &Folder, name: &str, text: &str) -> io::Result<()> {
    at_files();
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let path = folder.path().join(name);
    File::options().append(true).custom_flags(flags).open(path)?.write_all(text.as_bytes())
}

/// Maps a page of the locked file: it keeps the lock when the descriptor is closed, and ends with the process or at exec.
/// A child of fork does not get it, so the child does not keep the lock alive.
fn keep_lock(file: &File) -> io::Result<Page> {
    let page = Page::new(libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd())?;
    page.advise(libc::MADV_DONTFORK)?;
    Ok(page)
}

/// A page that is empty in a child of fork, clone and the like.
struct ForkMark(Page);

impl ForkMark {
    fn new() -> io::Result<Self> {
        let page = Page::new(libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        page.advise(libc::MADV_WIPEONFORK)?;
        let mark = ForkMark(page);
        mark.word().store(1, Ordering::Relaxed);
        Ok(mark)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is ours, mapped readable and writable, aligned, and lives as long as `self`.
        unsafe { self.0.0.cast().as_ref() }
    }

    fn is_set(&self) -> bool {
        self.word().load(Ordering::Relaxed) == 1
    }
}

/// The length of what is mapped; the kernel rounds it up to its page.
const PAGE: usize = 4096;

struct Page(NonNull<u8>);

// SAFETY: a page is only unmapped by its owner, or reached through atomics.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    fn new(protection: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).map(Page).ok_or_else(io::Error::last_os_error)
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is our own mapping; what it holds is not used before.
        let result = unsafe { libc::madvise(self.0.as_ptr().cast(), PAGE, advice) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: our own mapping, into which nobody has a reference. In a child of fork it may not exist: then the call
        // unmaps whatever the child has mapped there since, so `Life` is leaked there (see `Ledger::drop`).
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE) };
    }
}
