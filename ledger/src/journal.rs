//! A log on disk: a row of files, each following a full one.

mod epoch;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use verbsguard_core::ledger::log::{self, Foreign, Header};
use verbsguard_core::ledger::record::{self, RECORD};
use verbsguard_core::ledger::segment;
use verbsguard_core::ledger::snapshot::{self, Cursor};
use verbsguard_core::ledger::{Event, FileState, HolderId};
use verbsguard_lock::Mutex;

use crate::folder::Folder;
use crate::memory::{Mapping, Words};
use crate::sys;
pub use epoch::Epoch;
use epoch::{Backing, foreign};

/// The number of a row's first file.
const FIRST: u64 = 1;

/// Slots of a log that was just begun: 16 KiB with the header.
const FIRST_CAPACITY: u32 = 255;

/// Slots that a log grows to while it is rewritten, if what is kept does not need more: 512 KiB with the header.
const USUAL_CAPACITY: u32 = 8191;

/// How often an append goes after a log that others fill at the same time.
const TRIES: usize = 64;

/// The newest file of each row in a folder, as of one look.
#[derive(Default)]
pub struct Listing(Option<HashMap<String, u64>>);

impl Listing {
    fn newest(&mut self, folder: &Folder, row: &str) -> Option<u64> {
        let rows = self.0.get_or_insert_with(|| {
            let mut rows = HashMap::new();
            for name in folder.names() {
                if let Some((row, number)) = name.split_once('.')
                    && let Ok(number) = number.parse::<u64>()
                {
                    let newest: &mut u64 = rows.entry(row.to_owned()).or_default();
                    *newest = number.max(*newest);
                }
            }
            rows
        });
        rows.get(row).copied()
    }
}

/// A log, as one process uses it.
pub struct Journal {
    folder: Folder,
    /// "log", or "refs-" and the holder.
    name: String,
    file: u64,
    owner: HolderId,
    now: Mutex<Option<Now>>,
}

/// Where an event stands that was appended.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Its sequence number; in a holder's segment 0.
    pub seq: u64,
    /// The number of the epoch.
    pub epoch: u64,
    /// The slot.
    pub index: u32,
}

/// Where this process writes.
struct Now {
    epoch: Arc<Epoch>,
    /// The first free slot, where nobody else writes.
    at: Cursor,
}

impl Now {
    fn new(epoch: Epoch) -> Self {
        Now { at: Cursor { lap: 0, index: epoch.header.snapshot }, epoch: Arc::new(epoch) }
    }
}

impl Journal {
    /// The log of objects of a device file (owner 0), or a holder's segment. Nothing is opened yet.
    pub fn new(folder: &Folder, file: u64, owner: HolderId) -> Self {
        let name = if owner == HolderId(0) { "log".to_owned() } else { format!("refs-{}", owner.0) };
        Journal { folder: folder.clone(), name, file, owner, now: Mutex::new(None) }
    }

    /// Appends an event; answers where it stands. Where the log is full it is rewritten: `known` answers what has to be kept
    /// of it, if the caller has read it to its end.
    pub fn append(
        &self,
        writer: HolderId,
        event: &Event,
        known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>,
    ) -> io::Result<Told> {
        let record = record::encode(event);
        let mut guard = self.now.lock();
        let now = match &mut *guard {
            Some(now) => now,
            none => none.insert(Now::new(self.newest_or_first()?)),
        };
        for _ in 0..TRIES {
            match self.write(now, writer, &record) {
                Ok(Some(told)) => return Ok(told),
                Ok(None) => {}
                // Others went on to a newer one and removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            self.go_on(now, known)?;
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Writes a record. None where the file is full.
    fn write(&self, now: &mut Now, writer: HolderId, record: &[u8; RECORD]) -> io::Result<Option<Told>> {
        let Now { epoch, at } = now;
        let (header, number) = (&epoch.header, epoch.number);
        let index = epoch.with(&self.folder, true, |memory| match self.owner {
            HolderId(0) => log::append(memory, header, writer, record).ok(),
            _ => segment::append(memory, header, at, record).ok().map(|()| at.index - 1),
        })?;
        Ok(index.map(|index| Told { seq: header.seq(index), epoch: number, index }))
    }

    /// The file that this process writes to.
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        self.now.lock().as_ref().map(|now| now.epoch.clone())
    }

    /// Notes for everybody that an event is missing.
    pub fn note_lost(&self) {
        if let Some(now) = &*self.now.lock() {
            let _ = now.epoch.with(&self.folder, true, |memory| log::note_lost(memory));
        }
    }

    fn newest_or_first(&self) -> io::Result<Epoch> {
        let header = Header {
            holder: self.owner,
            file: self.file,
            base: 0,
            snapshot: 0,
            capacity: FIRST_CAPACITY,
            halves: false,
        };
        match self.newest(0)? {
            Some(epoch) => Ok(epoch),
            None => match self.begin(FIRST, header, &[], false)? {
                Some(first) => Ok(first),
                None => self.newest(0)?.ok_or_else(|| io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// The newest epoch, if it is newer than one already known.
    fn newest(&self, than: u64) -> io::Result<Option<Epoch>> {
        self.newest_in(than, &mut Listing::default())
    }

    /// The same, where many rows of one folder are looked for.
    pub fn newest_in(&self, than: u64, listing: &mut Listing) -> io::Result<Option<Epoch>> {
        // It may be superseded and removed between the look and the opening; each time that happens others got on.
        for _ in 0..TRIES {
            let Some(number) = listing.newest(&self.folder, &self.name).filter(|number| *number > than) else {
                return Ok(None);
            };
            match self.open(number) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => *listing = Listing::default(),
                other => return other.map(Some),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// The newest epoch after one that is known, if there is one.
    pub fn newest_after(&self, known: &Epoch, listing: &mut Listing) -> io::Result<Option<Epoch>> {
        for _ in 0..TRIES {
            // Asked first: a look at a folder may miss those that come and go meanwhile.
            let has_one = match known.with(&self.folder, false, |memory| log::is_followed(memory)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => true,
                is_followed => is_followed?,
            };
            match self.newest_in(known.number, listing)? {
                None if has_one => *listing = Listing::default(),
                found => return Ok(found),
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// The same where others have made one.
    fn newer(&self, known: &Epoch) -> io::Result<Epoch> {
        for _ in 0..TRIES {
            if let Some(epoch) = self.newest_after(known, &mut Listing::default())? {
                return Ok(epoch);
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Removes the epochs before `than`, which this process has made: whoever else marked them would tell its maker that it
    /// came late. Each is marked as followed before the name of the one after it gets free. The first stays: who was stopped
    /// right before making it would begin anew.
    fn remove_older(&self, than: u64, full: &Epoch) {
        let number = |name: String| name.strip_prefix(&self.name)?.strip_prefix('.')?.parse::<u64>().ok();
        let mut older: Vec<u64> = self.folder.names().into_iter().filter_map(number).collect();
        // Once the second is gone, the first is marked.
        let marked = !older.contains(&(FIRST + 1));
        older.retain(|number| *number < than && !(marked && *number == FIRST));
        older.sort_unstable();
        for number in older {
            if number == full.number {
                self.mark_followed(full);
            } else if let Ok(epoch) = self.open(number) {
                self.mark_followed(&epoch);
            }
            if number != FIRST {
                self.folder.remove(&self.file_name(number));
            }
        }
    }

    /// Notes that an epoch has a follower. Whether that was new; not so where the epoch is gone already.
    fn mark_followed(&self, epoch: &Epoch) -> bool {
        match epoch.with(&self.folder, true, |memory| log::note_followed(memory)) {
            Ok(is_new) => is_new,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    fn file_name(&self, number: u64) -> String {
        format!("{}.{number}", self.name)
    }

    fn open(&self, number: u64) -> io::Result<Epoch> {
        let name = self.file_name(number);
        let file = self.folder.file(&name, true)?;
        let (header, backing) = self.back(file, name, false)?;
        Ok(Epoch { number, header, backing })
    }

    fn back(&self, file: File, name: String, made_here: bool) -> io::Result<(Header, Backing)> {
        let words = Words::new(file)?;
        let header = Header::read(&words).map_err(foreign)?;
        if header.file != self.file || header.holder != self.owner {
            return Err(foreign(Foreign::NoLog));
        }
        if self.folder.is_shared() {
            return Ok((header, Backing::File(name)));
        }
        let bytes = header.bytes();
        if !made_here {
            // A sparse page would be a trap.
            sys::allocate(words.file().as_fd(), bytes)?;
        }
        Ok((header, Backing::Mapped(Mapping::new(words.file(), bytes)?)))
    }

    /// Begins an epoch. None where one has its name already.
    fn begin(&self, number: u64, header: Header, events: &[Event], lost: bool) -> io::Result<Option<Epoch>> {
        let (draft, file) = self.folder.draft()?;
        let name = self.file_name(number);
        let made = fill(&file, &header, events, lost).and_then(|()| self.folder.publish(&draft, &name));
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => {
                self.folder.remove(&draft);
                Err(error)
            }
            Ok(()) => {
                let (header, backing) = self.back(file, name, true)?;
                Ok(Some(Epoch { number, header, backing }))
            }
        }
    }

    /// Goes on from a full epoch.
    #[cold]
    fn go_on(&self, now: &mut Now, known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>) -> io::Result<()> {
        let next = if self.owner == HolderId(0) {
            self.follow(&now.epoch, known)?
        } else {
            match self.turn(now)? {
                Some(next) => next,
                None => return Ok(()),
            }
        };
        *now = Now::new(next);
        Ok(())
    }

    /// Makes room in a full segment: in its other half, or by another file, which is answered.
    fn turn(&self, now: &mut Now) -> io::Result<Option<Epoch>> {
        let Now { epoch, at } = now;
        let header = &epoch.header;
        let (events, lost, turned) = epoch.with(&self.folder, true, |memory| {
            let (events, damaged) = segment::kept(memory, header, at.lap);
            if damaged {
                log::note_lost(memory);
            }
            let turned = segment::turn(memory, header, at, &events);
            (events, log::is_lost(memory), turned)
        })?;
        if turned {
            return Ok(None);
        }
        let header = segment::next_header(header, events.len()).ok_or(io::ErrorKind::StorageFull)?;
        let next = self.begin(epoch.number + 1, header, &events, lost)?;
        let next = next.map_or_else(|| self.newer(epoch), Ok)?;
        self.mark_followed(epoch);
        self.folder.remove(&self.file_name(epoch.number));
        Ok(Some(next))
    }

    /// Goes on from a full epoch to a newer one, which is made if nobody has.
    fn follow(&self, full: &Epoch, known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>) -> io::Result<Epoch> {
        if let Some(epoch) = self.newest_after(full, &mut Listing::default())? {
            return Ok(epoch);
        }
        match self.rewrite(full, known) {
            // Someone else has rewritten and removed it in the middle of our reading.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.newer(full),
            other => other,
        }
    }

    fn rewrite(&self, full: &Epoch, known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>) -> io::Result<Epoch> {
        let (events, lost) = self.kept(full, known)?;
        let capacity = snapshot::next_capacity(events.len(), full.header.capacity, USUAL_CAPACITY);
        let header = Header {
            base: full.header.end(),
            snapshot: u32::try_from(events.len()).unwrap_or(u32::MAX),
            capacity: capacity.ok_or(io::ErrorKind::StorageFull)?,
            ..full.header
        };
        match self.begin(full.number + 1, header, &events, lost)? {
            Some(next) if self.mark_followed(full) => {
                self.remove_older(next.number, full);
                Ok(next)
            }
            // We were stopped for so long that others made this one, filled it, and removed it.
            Some(late) => {
                self.folder.remove(&self.file_name(late.number));
                self.newer(full)
            }
            None => self.newer(full),
        }
    }

    /// What has to be kept of a full epoch, and whether an event is missing in it.
    fn kept(
        &self,
        full: &Epoch,
        known: &mut dyn FnMut(&Epoch) -> Option<Vec<Event>>,
    ) -> io::Result<(Vec<Event>, bool)> {
        let is_lost = || full.with(&self.folder, false, |memory| log::is_lost(memory));
        if let Some(events) = known(full) {
            return Ok((events, is_lost()?));
        }
        let mut state = FileState::new();
        full.fold_all(&self.folder, &mut state)?;
        Ok((snapshot::objects(&state), state.is_lost()))
    }
}

fn fill(mut file: &File, header: &Header, events: &[Event], lost: bool) -> io::Result<()> {
    // By nobody, in the log; in a segment, of the first lap.
    let slots = events.iter().map(|event| log::ready_slot(0, &record::encode(event)));
    let words = std::iter::once(header.to_slot(lost)).chain(slots).flatten();
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    sys::allocate(file.as_fd(), header.bytes())?;
    file.write_all(&bytes)
}

#[cfg(test)]
mod tests;
