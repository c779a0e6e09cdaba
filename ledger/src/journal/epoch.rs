//! One file of a row of logs.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use verbsguard_core::ledger::FileState;
use verbsguard_core::ledger::log::{self, Foreign, Header, Memory};
use verbsguard_core::ledger::snapshot::{Cursor, Stop};

use crate::folder::Folder;
use crate::memory::{Mapping, Words};
use crate::sys::{self, Owner, Range};

/// How long others may keep a shared file's lock. They need microseconds; more means that one is stopped.
const PATIENCE: Duration = Duration::from_millis(500);

/// How its words are reached.
pub(super) enum Backing {
    Mapped(Mapping),
    /// The file's name: opened for each use, so that no descriptor stays open.
    File(String),
}

/// One file of the row.
pub struct Epoch {
    pub(super) number: u64,
    pub(super) header: Header,
    pub(super) backing: Backing,
}

impl Epoch {
    /// Its number: each one is by one higher than the one before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether nothing stands yet in a slot of a log of objects, where that is known without opening a file.
    #[inline]
    pub fn is_free(&self, index: u32) -> bool {
        matches!(&self.backing, Backing::Mapped(mapping) if log::is_free(mapping, &self.header, index))
    }

    /// Uses its words; `write` where something is to be changed.
    pub fn with<R>(&self, folder: &Folder, write: bool, use_it: impl FnOnce(&dyn Memory) -> R) -> io::Result<R> {
        match &self.backing {
            Backing::Mapped(mapping) => Ok(use_it(mapping)),
            Backing::File(name) => {
                let words = Words::new(folder.file(name, write)?)?;
                if words.words() < self.header.words() {
                    // Somebody truncated it: what reads as free is gone.
                    return Err(foreign(Foreign::NoLog));
                }
                if write {
                    lock(words.file())?;
                }
                Ok(use_it(&words))
            }
        }
    }

    /// Folds a full epoch to its end; writers that do not finish are given up.
    pub(super) fn fold_all(&self, folder: &Folder, state: &mut FileState) -> io::Result<()> {
        let mut cursor = Cursor::default();
        while let Stop::Busy(writer) = self.with(folder, false, |memory| cursor.fold(memory, &self.header, state))? {
            std::thread::yield_now();
            if let Stop::Busy(_) = self.with(folder, false, |memory| cursor.fold(memory, &self.header, state))? {
                self.with(folder, true, |memory| log::make_void(memory, cursor.index, writer))?;
            }
        }
        if self.with(folder, false, |memory| log::is_lost(memory))? {
            state.set_lost();
        }
        Ok(())
    }
}

/// Waits for the lock of a shared file; it ends with the descriptor.
fn lock(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !sys::try_lock(file.as_raw_fd(), Owner::Description, Range { start: 0, len: 1 })? {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Why a file cannot be read as a log.
pub(super) fn foreign(why: Foreign) -> io::Error {
    let message = match why {
        Foreign::NoLog => "a ledger file is damaged".to_owned(),
        Foreign::Version(version) => format!("a ledger file is of version {version}, which this version cannot read"),
    };
    io::Error::new(io::ErrorKind::InvalidData, message)
}
