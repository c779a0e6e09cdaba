//! A log that several processes write and read at once, each of which may be killed at any instruction.
//!
//! A log is an array of 64-byte slots, each one cache line; the first is the header. A slot's first word says where it
//! stands: free (0), reserved by a holder, ready (with the checksum of the other seven words), or void. A writer takes
//! the first free slot by compare-and-swap, fills it, and publishes it by another; so the order of slots is the order of
//! events for everybody. A reader that finds a slot reserved for too long makes it void, and all readers skip
//! it alike; its writer, if it was not killed but only stopped, writes its event again in a later slot.
//! A full log is followed by another one (its epoch is one higher) that starts with a snapshot.

use crate::ledger::event::HolderId;
use crate::ledger::record::RECORD;

/// Words of 8 bytes in a slot.
pub const SLOT_WORDS: usize = 8;

/// Shared memory, or what stands for it. Words are little-endian in files; these are their values.
pub trait Memory {
    /// How many words there are.
    fn words(&self) -> usize;

    /// Reads a word, and sees all that was written before it was written.
    fn load(&self, at: usize) -> u64;

    /// Writes a word.
    fn store(&self, at: usize, value: u64);

    /// Writes `new` where the word is `old`; answers whether it did.
    fn swap_if(&self, at: usize, old: u64, new: u64) -> bool;

    /// Reads a slot's words, the first one first.
    fn slot(&self, first: usize) -> [u64; SLOT_WORDS] {
        std::array::from_fn(|i| self.load(first + i))
    }

    /// Writes a slot's words, the first one last: who sees that sees the others.
    fn write_slot(&self, first: usize, slot: &[u64; SLOT_WORDS]) {
        slot.iter().enumerate().skip(1).for_each(|(i, word)| self.store(first + i, *word));
        self.store(first, slot[0]);
    }
}

/// A copy of a log, to read at leisure.
impl Memory for [u64] {
    fn words(&self) -> usize {
        self.len()
    }

    fn load(&self, at: usize) -> u64 {
        self.get(at).copied().unwrap_or_default()
    }

    fn store(&self, _: usize, _: u64) {}

    fn swap_if(&self, _: usize, _: u64, _: u64) -> bool {
        false
    }
}

const MAGIC: u64 = u64::from_le_bytes(*b"VGLEDGER");
const VERSION: u64 = 3;

// Words of the header that change. The first of them is the log's alone; a holder's segment says there which lap it is at.
const HINT: usize = 6;
const NOTES: usize = 7;

// Notes: once there, they stay.
const LOST: u64 = 1;
const FOLLOWED: u64 = 2;

const RESERVED: u64 = 1;
pub(super) const READY: u64 = 2;
const VOID: u64 = 3;

/// Set in the sizes of a segment whose slots are in two halves.
const HALVES: u64 = 1 << 63;

/// The largest number a holder can have: a slot has 24 bits for it.
pub const MOST_HOLDERS: u32 = (1 << 24) - 1;

/// The most slots a log may have: 1 GiB. A file that says more is hostile.
pub const MOST_SLOTS: u32 = 1 << 24;

fn word(state: u64, holder: HolderId, check: u32) -> u64 {
    state | u64::from(holder.0 & MOST_HOLDERS) << 8 | u64::from(check) << 32
}

/// A checksum, against accidents. Each step is a bijection of what it had and of the word it takes, so no change of one
/// word leaves the 64 bits as they were; the half of them that is kept misses one change in four thousand million.
pub(super) fn check(words: &[u64]) -> u32 {
    let hash = words.iter().fold(MAGIC, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    });
    (hash >> 32) as u32
}

fn holder_of(word: u64) -> HolderId {
    HolderId((word >> 8) as u32 & MOST_HOLDERS)
}

pub(super) fn bytes_of(words: &[u64; RECORD / 8]) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

fn words_of(bytes: &[u8; RECORD]) -> [u64; RECORD / 8] {
    let mut words = [0; RECORD / 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// What a log's first slot says and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whose segment it is; 0 for the log of objects.
    pub holder: HolderId,
    /// The device file's number, so that a stray file is not taken for this one's.
    pub file: u64,
    /// The sequence number of the last event before this log.
    pub base: u64,
    /// How many slots at its start are a snapshot, and have no sequence number of their own.
    pub snapshot: u32,
    /// Slots, the header not counted; where there are two halves, of each.
    pub capacity: u32,
    /// A segment that is written in two halves by turns, lap after lap.
    pub halves: bool,
}

/// Why a file is no log that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It does not begin as a log does, or is damaged.
    NoLog,
    /// Another version of verbsguard wrote it.
    Version(u32),
}

impl Header {
    fn fixed(&self) -> [u64; 5] {
        let version = VERSION | u64::from(self.holder.0) << 32;
        let sizes = u64::from(self.snapshot) | u64::from(self.capacity) << 32;
        [MAGIC, version, self.base, sizes | if self.halves { HALVES } else { 0 }, self.file]
    }

    /// The header's slot. `lost`: an event is missing already.
    pub fn to_slot(&self, lost: bool) -> [u64; SLOT_WORDS] {
        let [a, b, c, d, e] = self.fixed();
        [a, b, c, d, e, u64::from(check(&self.fixed())), 0, u64::from(lost)]
    }

    /// Reads a header, and believes of it what the size of the memory allows.
    pub fn read(memory: &(impl Memory + ?Sized)) -> Result<Self, Foreign> {
        if memory.words() < SLOT_WORDS {
            return Err(Foreign::NoLog);
        }
        let [magic, version, base, sizes, file, check, ..] = memory.slot(0);
        if magic != MAGIC {
            return Err(Foreign::NoLog);
        }
        if version & u64::from(u32::MAX) != VERSION {
            return Err(Foreign::Version(version as u32));
        }
        let holder = HolderId((version >> 32) as u32);
        let (capacity, halves) = ((sizes & !HALVES) >> 32, sizes & HALVES != 0);
        let header = Header { holder, file, base, snapshot: sizes as u32, capacity: capacity as u32, halves };
        let fits = header.slots() <= MOST_SLOTS as usize && header.words() <= memory.words();
        let whole = u64::from(self::check(&header.fixed())) == check && header.snapshot <= header.capacity;
        if fits && whole && !(halves && holder == HolderId(0)) { Ok(header) } else { Err(Foreign::NoLog) }
    }

    const fn slots(&self) -> usize {
        self.capacity as usize * if self.halves { 2 } else { 1 }
    }

    /// How long the whole log is.
    pub const fn words(&self) -> usize {
        (self.slots() + 1) * SLOT_WORDS
    }

    /// How many bytes that is.
    pub const fn bytes(&self) -> u64 {
        self.words() as u64 * 8
    }

    /// The sequence number of its last event, once it is full.
    pub fn end(&self) -> u64 {
        self.base.saturating_add(u64::from(self.capacity - self.snapshot))
    }

    /// The sequence number of a slot's event; 0 in the snapshot, and in a holder's segment.
    pub fn seq(&self, index: u32) -> u64 {
        if index < self.snapshot || self.holder != HolderId(0) {
            0
        } else {
            self.base.saturating_add(u64::from(index - self.snapshot) + 1)
        }
    }
}

/// A ready slot, to be written where nobody looks yet. `by`: the writer, or in a holder's segment the lap.
pub fn ready_slot(by: u32, record: &[u8; RECORD]) -> [u64; SLOT_WORDS] {
    let words = words_of(record);
    let [a, b, c, d, e, f, g] = words;
    [word(READY, HolderId(by), check(&words)), a, b, c, d, e, f, g]
}

fn first_word(index: u32) -> usize {
    (index as usize + 1) * SLOT_WORDS
}

/// What a reader finds in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing yet; no later slot is taken either.
    Free,
    /// A writer is at it.
    Busy(HolderId),
    /// Given up.
    Void,
    /// A record, whose checksum is right.
    Record([u8; RECORD]),
    /// Not what any writer leaves.
    Damaged,
}

/// Reads a slot.
pub fn read(memory: &(impl Memory + ?Sized), index: u32) -> Slot {
    let first = memory.load(first_word(index));
    match first & 0xff {
        0 if first == 0 => Slot::Free,
        RESERVED if first == word(RESERVED, holder_of(first), 0) => Slot::Busy(holder_of(first)),
        VOID => Slot::Void,
        READY => {
            let [_, words @ ..] = memory.slot(first_word(index));
            if check(&words) == (first >> 32) as u32 { Slot::Record(bytes_of(&words)) } else { Slot::Damaged }
        }
        _ => Slot::Damaged,
    }
}

/// Whether a slot of a log is free; false where there is no such slot.
#[inline]
pub fn is_free(memory: &(impl Memory + ?Sized), header: &Header, index: u32) -> bool {
    index < header.capacity && memory.load(first_word(index)) == 0
}

/// Gives up a slot that its writer does not finish; false where he did after all.
pub fn make_void(memory: &(impl Memory + ?Sized), index: u32, writer: HolderId) -> bool {
    memory.swap_if(first_word(index), word(RESERVED, writer, 0), word(VOID, writer, 0))
}

/// The log has no free slot left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Appends a record; answers its slot.
pub fn append(
    memory: &(impl Memory + ?Sized),
    header: &Header,
    writer: HolderId,
    record: &[u8; RECORD],
) -> Result<u32, Full> {
    let words = words_of(record);
    let check = check(&words);
    let mut index = u32::try_from(memory.load(HINT)).unwrap_or(u32::MAX).max(header.snapshot);
    while index < header.capacity {
        if reserve(memory, index, writer) {
            let first = first_word(index);
            words.iter().enumerate().for_each(|(i, word)| memory.store(first + 1 + i, *word));
            // A reader may have given this writer up in the meantime: then the event goes to a later slot.
            let published = memory.swap_if(first, word(RESERVED, writer, 0), word(READY, writer, check));
            advance(memory, index);
            if published {
                return Ok(index);
            }
        }
        index += 1;
    }
    Err(Full)
}

fn reserve(memory: &(impl Memory + ?Sized), index: u32, writer: HolderId) -> bool {
    let first = first_word(index);
    memory.load(first) == 0 && memory.swap_if(first, 0, word(RESERVED, writer, 0))
}

/// Moves the hint on, so that the next writer need not search. Slots below it are never free. One that was stopped may set
/// it back, which costs the next a search.
fn advance(memory: &(impl Memory + ?Sized), index: u32) {
    memory.store(HINT, u64::from(index) + 1);
}

/// Notes that an event could not be written: the history is not whole.
pub fn note_lost(memory: &(impl Memory + ?Sized)) {
    note(memory, LOST);
}

/// Whether an event could not be written.
pub fn is_lost(memory: &(impl Memory + ?Sized)) -> bool {
    // What is no note of ours is damage.
    memory.load(NOTES) & !FOLLOWED != 0
}

/// Whether it was noted that a log is followed by another one.
pub fn is_followed(memory: &(impl Memory + ?Sized)) -> bool {
    memory.load(NOTES) & FOLLOWED != 0
}

/// Notes that a log is followed by another one; false where that was noted before.
pub fn note_followed(memory: &(impl Memory + ?Sized)) -> bool {
    note(memory, FOLLOWED)
}

fn note(memory: &(impl Memory + ?Sized), what: u64) -> bool {
    // Another note may come in between, each of them once.
    for _ in 0..=(LOST | FOLLOWED).count_ones() {
        let notes = memory.load(NOTES);
        if notes & what != 0 {
            return false;
        }
        if memory.swap_if(NOTES, notes, notes | what) {
            return true;
        }
    }
    false
}
