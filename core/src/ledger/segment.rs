//! A holder's own segment: its references and children, in a log that nobody else writes.
//!
//! Nothing has to be reserved there: a record is written first and the slot's first word last. A segment of the usual size
//! has two halves. When one is full, what is still live is written to the start of the other, then a word of the header
//! says that the next lap has begun there, and the file is used again without asking the kernel for anything. In place of
//! the writer a slot names its lap, so what an earlier lap left reads as free.
//!
//! So a reader has the time of at least half a lap before a slot that it is to read is written over. One that is slower
//! notices: it finds another lap, or a wrong checksum, and the header says that the lap is over. Then it forgets what it
//! knows of the holder and reads the present lap from its start.

use rustc_hash::FxHashMap;

use crate::ledger::event::{Event, HolderId, Serial};
use crate::ledger::log::{self, Header, MOST_SLOTS, Memory, SLOT_WORDS};
use crate::ledger::record::{self, Of, RECORD};
use crate::ledger::snapshot::{Cursor, Stop};
use crate::ledger::state::FileState;

/// Slots of each half of a segment that has two: with the header 256 KiB.
const HALF: u32 = 2047;

/// Slots of a larger segment, at least; such a one has no halves.
const LARGE: u32 = 4095;

/// How often a reader that was overtaken by the writer begins anew.
const TRIES: u32 = 64;

/// A slot's 24 bits for the lap, as many as for a log's writer.
const MOST_LAPS: u32 = log::MOST_HOLDERS;

/// The word of the header that says which lap is under way, and how many slots at its start are a snapshot.
const TURN: usize = 6;

/// What it says. Zero is the first lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    lap: u32,
    snapshot: u32,
}

impl Turn {
    fn to_word(self) -> u64 {
        let numbers = u64::from(self.lap) | u64::from(self.snapshot) << 24;
        numbers | u64::from(log::check(&[numbers])) << 48
    }

    /// None where no writer leaves such a word.
    fn read(memory: &(impl Memory + ?Sized), header: &Header) -> Option<Turn> {
        let word = memory.load(TURN);
        if word == 0 {
            return Some(Turn { lap: 0, snapshot: header.snapshot });
        }
        let turn = Turn { lap: word as u32 & MOST_LAPS, snapshot: (word >> 24) as u32 & (MOST_SLOTS - 1) };
        let fits = header.halves && turn.snapshot <= header.capacity;
        (fits && turn.to_word() == word).then_some(turn)
    }
}

fn first_word(header: &Header, at: Cursor) -> usize {
    let half = if header.halves && at.lap % 2 == 1 { header.capacity } else { 0 };
    (half as usize + at.index as usize + 1) * SLOT_WORDS
}

/// What stands in a slot for the reader of a lap.
enum Slot {
    Record([u8; RECORD]),
    /// Nothing yet in this lap.
    Free,
    /// Of a later lap, or damaged.
    Other,
}

fn read(memory: &(impl Memory + ?Sized), header: &Header, at: Cursor) -> Slot {
    let [first, words @ ..] = memory.slot(first_word(header, at));
    let lap = (first >> 8) as u32 & MOST_LAPS;
    match first & 0xff {
        0 if first == 0 => Slot::Free,
        log::READY if lap == at.lap && log::check(&words) == (first >> 32) as u32 => {
            Slot::Record(log::bytes_of(&words))
        }
        log::READY if lap < at.lap && lap % 2 == at.lap % 2 => Slot::Free,
        _ => Slot::Other,
    }
}

/// The segment, or the half under way, has no free slot left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Appends a record at `at`, the first free slot.
pub fn append(
    memory: &(impl Memory + ?Sized),
    header: &Header,
    at: &mut Cursor,
    record: &[u8; RECORD],
) -> Result<(), Full> {
    if at.index >= header.capacity {
        return Err(Full);
    }
    memory.write_slot(first_word(header, *at), &log::ready_slot(at.lap, record));
    at.index += 1;
    Ok(())
}

/// Goes on in the other half, where there is one and what is `kept` leaves at least half of it free. False: a new file is
/// needed.
pub fn turn(memory: &(impl Memory + ?Sized), header: &Header, at: &mut Cursor, kept: &[Event]) -> bool {
    let snapshot = u32::try_from(kept.len()).unwrap_or(u32::MAX);
    if !header.halves || snapshot > header.capacity / 2 || at.lap >= MOST_LAPS {
        return false;
    }
    let mut next = Cursor { lap: at.lap + 1, index: 0 };
    let written = kept.iter().all(|event| append(memory, header, &mut next, &record::encode(event)).is_ok());
    if written {
        // Until here readers take the other half for what is left of the lap before.
        memory.store(TURN, Turn { lap: next.lap, snapshot }.to_word());
        *at = next;
    }
    written
}

/// The header of the segment after a full one, which keeps so many events: small at first, then in halves, and where half
/// of a half is not enough for them, twice as long as they are.
pub fn next_header(full: &Header, kept: usize) -> Option<Header> {
    let snapshot = u32::try_from(kept).ok()?;
    let needed = snapshot.checked_mul(2)?;
    let grown = full.capacity.saturating_mul(2).saturating_add(1).max(needed);
    let (capacity, halves) = match needed {
        0..=HALF => (grown.min(HALF), grown >= HALF),
        _ => (needed.max(LARGE), false),
    };
    (capacity <= MOST_SLOTS).then_some(Header { snapshot, capacity, halves, ..*full })
}

/// Whether a copy has its lap as it was written: no slot was copied in the middle of being written, and the half was not
/// used again, which is only after the next lap. `then` is the header as it was after the copy was made.
pub(super) fn is_whole(copy: &(impl Memory + ?Sized), then: &(impl Memory + ?Sized), header: &Header) -> bool {
    let (Some(turn), Some(after)) = (Turn::read(copy, header), Turn::read(then, header)) else { return false };
    let mut slots = (0..header.capacity).map(|index| read(copy, header, Cursor { lap: turn.lap, index }));
    after.lap <= turn.lap + 1 && !slots.any(|slot| matches!(slot, Slot::Other))
}

/// What a run of records comes to: most references end soon, and what both began and ended in it is nobody's business.
#[derive(Default)]
struct Net {
    /// Mostly the next record ends this one.
    latest: Option<(Serial, [u8; RECORD])>,
    live: FxHashMap<Serial, [u8; RECORD]>,
    /// Ends of what began before, and children.
    rest: Vec<[u8; RECORD]>,
}

impl Net {
    fn add(&mut self, record: [u8; RECORD]) {
        match record::reference(&record) {
            Of::Acquired(serial) => {
                if let Some((serial, record)) = self.latest.replace((serial, record)) {
                    self.live.insert(serial, record);
                }
            }
            Of::Released(serial) => {
                let was_latest = self.latest.take_if(|(latest, _)| *latest == serial).is_some();
                let was_live = !self.live.is_empty() && self.live.remove(&serial).is_some();
                if !was_latest && !was_live {
                    self.rest.push(record);
                }
            }
            Of::Other => self.rest.push(record),
        }
    }

    /// The events, ends and children first. What is not `holder`'s, or does not belong here, is left out: `false`.
    fn events(self, holder: HolderId) -> (Vec<Event>, bool) {
        let live = self.live.into_values().chain(self.latest.map(|(_, record)| record));
        let all = self.rest.len() + live.size_hint().0;
        let events = self.rest.into_iter().chain(live).filter_map(|record| record::decode(&record).ok());
        let events: Vec<Event> = events.filter(|event| !event.is_shared() && event.holder() == holder).collect();
        let whole = events.len() == all;
        (events, whole)
    }
}

/// The events that make what a holder has anew, from the whole of a full lap. True: something in it was damaged.
pub fn kept(memory: &(impl Memory + ?Sized), header: &Header, lap: u32) -> (Vec<Event>, bool) {
    let mut net = Net::default();
    let mut lost = false;
    for index in 0..header.capacity {
        match read(memory, header, Cursor { lap, index }) {
            Slot::Record(record) => net.add(record),
            Slot::Free | Slot::Other => lost = true,
        }
    }
    let (mut events, whole) = net.events(header.holder);
    let mut children = FileState::new();
    events.retain(|event| {
        let is_reference = matches!(event, Event::Acquired { .. });
        if !is_reference {
            children.apply(0, event);
        }
        is_reference
    });
    events.extend(children.children_by(header.holder));
    (events, lost || !whole)
}

/// Why reading a lap stopped.
enum Lap {
    Free,
    End,
    /// The writer has come round.
    Overtaken,
}

/// Takes in what is new in a lap, or nothing of it where it is over.
fn read_lap(memory: &(impl Memory + ?Sized), header: &Header, at: &mut Cursor, state: &mut FileState) -> Lap {
    let (mut net, mut stop, mut next) = (Net::default(), Lap::End, *at);
    while next.index < header.capacity {
        match read(memory, header, next) {
            Slot::Record(record) => net.add(record),
            Slot::Free => {
                stop = Lap::Free;
                break;
            }
            Slot::Other if Turn::read(memory, header).is_some_and(|turn| turn.lap > next.lap) => {
                return Lap::Overtaken;
            }
            Slot::Other => state.set_lost(),
        }
        next.index += 1;
    }
    *at = next;
    let (events, whole) = net.events(header.holder);
    events.iter().for_each(|event| state.apply(0, event));
    if !whole {
        state.set_lost();
    }
    stop
}

/// Takes in what is new in a segment, at least up to where its holder was when this was called. `End`: whatever comes is
/// in another file.
pub(super) fn fold(memory: &(impl Memory + ?Sized), header: &Header, at: &mut Cursor, state: &mut FileState) -> Stop {
    for _ in 0..TRIES {
        let Some(turn) = Turn::read(memory, header) else { break };
        if at.lap != turn.lap && log::is_lost(memory) {
            state.set_lost();
        }
        // Of the lap before, the rest may be there still.
        if at.lap.checked_add(1) == Some(turn.lap) && matches!(read_lap(memory, header, at, state), Lap::End) {
            *at = Cursor { lap: turn.lap, index: turn.snapshot };
        }
        if at.lap != turn.lap {
            state.forget_holder(header.holder);
            *at = Cursor { lap: turn.lap, index: 0 };
        }
        match read_lap(memory, header, at, state) {
            Lap::Free => return Stop::UpToDate,
            Lap::End if Turn::read(memory, header) == Some(turn) => return Stop::End,
            Lap::End => return Stop::UpToDate,
            Lap::Overtaken => {}
        }
    }
    state.set_lost();
    Stop::UpToDate
}
