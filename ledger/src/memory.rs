//! A log's words: mapped where only we can write the file, else read and written through the file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use verbsguard_core::ledger::log::{Memory, SLOT_WORDS};

/// The length of most logs.
const USUAL: usize = 512 << 10;

/// A shared mapping of a whole file.
pub struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping is reached through atomics only, and nothing unmaps it before the last owner drops it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file that is all allocated and that nobody else may truncate.
    pub fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let len = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // All pages of a log of the usual size are soon touched: at once is cheaper than one by one.
        let flags = libc::MAP_SHARED | if len <= USUAL { libc::MAP_POPULATE } else { 0 };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapping { start, words: len / 8 })
    }

    fn word(&self, at: usize) -> Option<&AtomicU64> {
        // SAFETY: `at` lies within the mapping, which is page-aligned and lives as long as `self`; other processes write
        // to it with atomic operations too, and any bits are a valid word.
        (at < self.words).then(|| unsafe { self.start.add(at).as_ref() })
    }

    fn slot_at(&self, first: usize) -> Option<&[AtomicU64; SLOT_WORDS]> {
        let is_inside = first.checked_add(SLOT_WORDS).is_some_and(|end| end <= self.words);
        // SAFETY: as above, for each of the words.
        is_inside.then(|| unsafe { self.start.add(first).cast().as_ref() })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of our own mapping, and no reference into it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

// The machines that rdma-core's mlx5 provider runs on are little-endian but for one; there words are stored swapped.
impl Memory for Mapping {
    fn words(&self) -> usize {
        self.words
    }

    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.word(at).map_or(0, |word| u64::from_le(word.load(Ordering::Acquire)))
    }

    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.word(at) {
            word.store(value.to_le(), Ordering::Release);
        }
    }

    fn swap_if(&self, at: usize, old: u64, new: u64) -> bool {
        let swap = |word: &AtomicU64| {
            word.compare_exchange(old.to_le(), new.to_le(), Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        self.word(at).is_some_and(swap)
    }

    fn slot(&self, first: usize) -> [u64; SLOT_WORDS] {
        self.slot_at(first)
            .map_or([0; SLOT_WORDS], |words| std::array::from_fn(|i| u64::from_le(words[i].load(Ordering::Acquire))))
    }

    fn write_slot(&self, first: usize, slot: &[u64; SLOT_WORDS]) {
        if let Some(words) = self.slot_at(first) {
            for i in (0..SLOT_WORDS).rev() {
                words[i].store(slot[i].to_le(), Ordering::Release);
            }
        }
    }
}

/// A file that others may truncate. Whoever writes holds its lock, so that reading and then writing is one step.
pub struct Words {
    file: File,
    words: usize,
}

impl Words {
    /// Takes an open file as a log.
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Words { file, words: usize::try_from(bytes / 8).unwrap_or(usize::MAX) })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// A failed read is a free word, and a failed write does nothing: then the log ends there.
impl Memory for Words {
    fn words(&self) -> usize {
        self.words
    }

    fn load(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        let got = self.file.read_exact_at(&mut bytes, at as u64 * 8);
        if got.is_ok() { u64::from_le_bytes(bytes) } else { 0 }
    }

    fn store(&self, at: usize, value: u64) {
        let _ = self.file.write_all_at(&value.to_le_bytes(), at as u64 * 8);
    }

    fn swap_if(&self, at: usize, old: u64, new: u64) -> bool {
        self.load(at) == old && self.file.write_all_at(&new.to_le_bytes(), at as u64 * 8).is_ok()
    }

    /// The first word by a read of its own: within one, the kernel copies in whatever order.
    fn slot(&self, first: usize) -> [u64; SLOT_WORDS] {
        let mut slot = [self.load(first); SLOT_WORDS];
        let mut bytes = [0; 8 * (SLOT_WORDS - 1)];
        if slot[0] == 0 || self.file.read_exact_at(&mut bytes, first as u64 * 8 + 8).is_err() {
            return [0; SLOT_WORDS];
        }
        slot[1..].iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        slot
    }

    fn write_slot(&self, first: usize, slot: &[u64; SLOT_WORDS]) {
        let bytes: [u8; 8 * SLOT_WORDS] = std::array::from_fn(|i| slot[i / 8].to_le_bytes()[i % 8]);
        let at = first as u64 * 8;
        if self.file.write_all_at(&bytes[8..], at + 8).is_ok() {
            let _ = self.file.write_all_at(&bytes[..8], at);
        }
    }
}
