//! Reading logs, and rewriting a full one.

use crate::ledger::event::{Event, HolderId, Stamp};
use crate::ledger::log::{self, Header, Memory, Slot};
use crate::ledger::record::{self, RECORD};
use crate::ledger::segment;
use crate::ledger::state::{FileState, REMEMBERED_DEAD};

/// How far a log was read, or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// In a holder's segment, the lap.
    pub lap: u32,
    /// The next slot.
    pub index: u32,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing more has been written.
    UpToDate,
    /// A writer is at the next slot.
    Busy(HolderId),
    /// The log is read to its end: whatever comes is in the next one.
    End,
}

impl Cursor {
    /// Takes in what is new in a log.
    pub fn fold(&mut self, memory: &(impl Memory + ?Sized), header: &Header, state: &mut FileState) -> Stop {
        if header.holder != HolderId(0) {
            return segment::fold(memory, header, self, state);
        }
        while self.index < header.capacity {
            match log::read(memory, self.index) {
                Slot::Free => return Stop::UpToDate,
                Slot::Busy(writer) => return Stop::Busy(writer),
                Slot::Void => {}
                Slot::Damaged => state.set_lost(),
                Slot::Record(record) => self.take(header, &record, state),
            }
            self.index += 1;
        }
        Stop::End
    }

    fn take(&self, header: &Header, record: &[u8; RECORD], state: &mut FileState) {
        match record::decode(record) {
            Ok(event) if event.is_shared() => state.apply(header.seq(self.index), &event),
            _ => state.set_lost(),
        }
    }
}

/// Whether a copy of a log, made while others went on with it, shows a moment of it; `then` is the header as it was after
/// the copy was made. What is damaged for good never does.
pub fn is_whole(copy: &(impl Memory + ?Sized), then: &(impl Memory + ?Sized), header: &Header) -> bool {
    if header.holder != HolderId(0) {
        return segment::is_whole(copy, then, header);
    }
    !(0..header.capacity).any(|index| log::read(copy, index) == Slot::Damaged)
}

/// The events that make the objects of a state anew, for the start of the next log of them. Of the dead the latest are
/// kept.
pub fn objects(state: &FileState) -> Vec<Event> {
    let first = state.first();
    let opened = first.map(|(mark, guarded)| Event::Opened { holder: mark.holder, stamp: mark.stamp, guarded });
    let mut events: Vec<Event> = opened.into_iter().collect();
    let is_first = |holder, stamp| first.is_some_and(|(mark, _)| (mark.holder, mark.stamp) == (holder, stamp));
    let mut joined: Vec<(HolderId, Stamp)> = state.joined().collect();
    let stays = joined.iter().any(|(holder, stamp)| is_first(*holder, *stamp));
    let left = first.filter(|_| !stays).map(|(mark, _)| Event::Left { holder: mark.holder, stamp: mark.stamp });
    events.extend(left);
    joined.retain(|(holder, stamp)| !is_first(*holder, *stamp));
    events.extend(joined.into_iter().map(|(holder, stamp)| Event::Opened { holder, stamp, guarded: false }));
    events.extend(state.stranger().map(|(pid, mark)| Event::Stranger { holder: mark.holder, pid, stamp: mark.stamp }));
    // The dead in the order in which they are to be forgotten.
    let dead = state.dead().count();
    let remembered = state.dead().skip(dead.saturating_sub(REMEMBERED_DEAD));
    events.extend(remembered.chain(state.living()).map(|object| Event::Kept(*object)));
    events
}

/// How many slots the log after this one gets: room for twice what is kept, growing from small to `most`.
pub fn next_capacity(kept: usize, before: u32, most: u32) -> Option<u32> {
    let grown = before.saturating_mul(2).saturating_add(1).min(most);
    let needed = u32::try_from(kept).ok()?.checked_mul(2)?;
    let capacity = grown.max(needed);
    (capacity <= log::MOST_SLOTS).then_some(capacity)
}
