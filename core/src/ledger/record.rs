//! Events as bytes: 56 of them, which with the slot's own word make one cache line.
//!
//! All numbers are little-endian. A field that an event does not have is zero, and whatever does not read back exactly is
//! no record: a reader never guesses.

use crate::ledger::child::ChildKind;
use crate::ledger::event::{Event, Generation, Handle, HolderId, How, Kind, Origin, Serial, Stamp};
use crate::ledger::object::{End, EndHow, MOST_DYING, Mark, Object, ObjectState};
use crate::site::Site;

/// Bytes of a record.
pub const RECORD: usize = 56;

/// The bytes are no record of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

const HANDLE: usize = 4;
const GENERATION: usize = 8;
const SECOND: usize = 16;
const HOLDER: usize = 20;
const TIME: usize = 24;
const SITE: usize = 32;
const END_TIME: usize = 36;
const SERIAL: usize = 36;
const END_SITE: usize = 44;
const END_HOLDER: usize = 48;
const DELTA: usize = 52;

// Flags.
const HAS_SECOND: u8 = 1;
const SEEN: u8 = 2;
const EXPORTED: u8 = 4;
const HAS_END: u8 = 8;
const IS_MOURNED: u8 = 16;

// Types.
const OPENED: u8 = 1;
const STRANGER: u8 = 2;
const BORN: u8 = 3;
const DYING: u8 = 4;
const DESTROYED: u8 = 5;
const REVIVED: u8 = 6;
const EXPORT: u8 = 7;
const KEPT: u8 = 8;
const ACQUIRED: u8 = 9;
const RELEASED: u8 = 10;
const CHILDREN: u8 = 11;
const LEFT: u8 = 12;
const VANISHED: u8 = 13;
const MOURNED: u8 = 14;

const KINDS: [Kind; 2] = [Kind::Pd, Kind::Umem];
const ORIGINS: [Origin; 3] = [Origin::Owned, Origin::Imported, Origin::Inherited];
const HOWS: [How; 3] = [How::Unimported, How::Destroyed, How::Abandoned];
const ENDS: [EndHow; 3] = [EndHow::Destroyed, EndHow::Overtaken, EndHow::Unseen];
const STATES: [ObjectState; 3] = [ObjectState::Live, ObjectState::Dying, ObjectState::Destroyed];
/// A value's number in its table.
fn number<T: PartialEq>(table: &[T], value: T) -> u8 {
    table.iter().position(|each| *each == value).unwrap_or_default() as u8
}

fn value<T: Copy>(table: &[T], number: u8) -> Result<T, Malformed> {
    table.get(usize::from(number)).copied().ok_or(Malformed)
}

/// A record being written.
struct Writer([u8; RECORD]);

impl Writer {
    fn new(kind: u8) -> Self {
        let mut bytes = [0; RECORD];
        bytes[0] = kind;
        Writer(bytes)
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    fn flag(mut self, flag: u8, on: bool) -> Self {
        self.0[2] |= if on { flag } else { 0 };
        self
    }

    fn small(mut self, value: u8) -> Self {
        self.0[3] = value;
        self
    }

    fn mark(self, holder: HolderId, stamp: Stamp) -> Self {
        self.u32(HOLDER, holder.0).u64(TIME, stamp.time_ns).u32(SITE, stamp.site.0)
    }

    fn object(mut self, kind: Kind, handle: Handle, generation: Generation) -> Self {
        self.0[1] = number(&KINDS, kind);
        self.u32(HANDLE, handle.0).u64(GENERATION, generation.0)
    }

    fn second(self, second_id: Option<u32>) -> Self {
        self.flag(HAS_SECOND, second_id.is_some()).u32(SECOND, second_id.unwrap_or_default())
    }
}

/// Writes an event.
pub fn encode(event: &Event) -> [u8; RECORD] {
    let writer = match *event {
        Event::Opened { holder, stamp, guarded } => Writer::new(OPENED).mark(holder, stamp).flag(SEEN, guarded),
        Event::Left { holder, stamp } => Writer::new(LEFT).mark(holder, stamp),
        Event::Stranger { holder, pid, stamp } => Writer::new(STRANGER).mark(holder, stamp).u32(SECOND, pid),
        Event::Born { kind, handle, second_id, holder, stamp, seen } => {
            Writer::new(BORN).object(kind, handle, Generation(0)).second(second_id).mark(holder, stamp).flag(SEEN, seen)
        }
        Event::Dying { kind, handle, generation, holder, stamp } => {
            Writer::new(DYING).object(kind, handle, generation).mark(holder, stamp)
        }
        Event::Destroyed { kind, handle, generation, holder, stamp } => {
            Writer::new(DESTROYED).object(kind, handle, generation).mark(holder, stamp)
        }
        Event::Revived { kind, handle, generation, holder } => {
            Writer::new(REVIVED).object(kind, handle, generation).u32(HOLDER, holder.0)
        }
        Event::Vanished { kind, handle, generation, holder, stamp } => {
            Writer::new(VANISHED).object(kind, handle, generation).mark(holder, stamp)
        }
        Event::Mourned { kind, handle, generation, holder } => {
            Writer::new(MOURNED).object(kind, handle, generation).u32(HOLDER, holder.0)
        }
        Event::Exported { kind, handle, generation, holder, stamp } => {
            Writer::new(EXPORT).object(kind, handle, generation).mark(holder, stamp)
        }
        Event::Kept(ref object) => encode_object(object),
        Event::Acquired { holder, serial, kind, handle, generation, origin, stamp } => Writer::new(ACQUIRED)
            .object(kind, handle, generation)
            .mark(holder, stamp)
            .u64(SERIAL, serial.0)
            .small(number(&ORIGINS, origin)),
        Event::Released { holder, serial, how, stamp } => {
            Writer::new(RELEASED).mark(holder, stamp).u64(SERIAL, serial.0).small(number(&HOWS, how))
        }
        Event::Children { holder, pd, generation, child, delta } => Writer::new(CHILDREN)
            .object(Kind::Pd, pd, generation)
            .u32(HOLDER, holder.0)
            .small(number(ChildKind::ALL, child))
            .u32(DELTA, delta.cast_unsigned()),
    };
    writer.0
}

fn encode_object(object: &Object) -> Writer {
    let end = object.end.map(|end| end.mark).unwrap_or_default();
    let how = object.end.map_or(0, |end| number(&ENDS, end.how));
    // How long after an importer's its maker's word came: nearly always 0 or a few.
    let later = object.told.saturating_sub(object.generation.0);
    let writer = Writer::new(KEPT)
        .object(object.kind, object.handle, object.generation)
        .second(object.second_id)
        .mark(object.born.holder, object.born.stamp)
        .flag(SEEN, !object.inferred)
        .flag(EXPORTED, object.exported)
        .flag(IS_MOURNED, object.mourned)
        .flag(HAS_END, object.end.is_some())
        .u64(END_TIME, end.stamp.time_ns)
        .u32(END_SITE, end.stamp.site.0)
        .u32(END_HOLDER, end.holder.0)
        .u32(DELTA, u32::try_from(later).unwrap_or(u32::MAX));
    // State, how it ended, and up to 15 destroying calls under way, in one byte.
    writer.small(number(&STATES, object.state) | how << 2 | object.dying.min(MOST_DYING) << 4)
}

/// A record being read.
struct Reader<'a>(&'a [u8; RECORD]);

impl Reader<'_> {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i]))
    }

    fn flag(&self, flag: u8) -> bool {
        self.0[2] & flag != 0
    }

    fn small(&self) -> u8 {
        self.0[3]
    }

    fn kind(&self) -> Result<Kind, Malformed> {
        value(&KINDS, self.0[1])
    }

    fn handle(&self) -> Handle {
        Handle(self.u32(HANDLE))
    }

    fn generation(&self) -> Generation {
        Generation(self.u64(GENERATION))
    }

    fn second(&self) -> Option<u32> {
        self.flag(HAS_SECOND).then(|| self.u32(SECOND))
    }

    fn holder(&self) -> HolderId {
        HolderId(self.u32(HOLDER))
    }

    fn stamp(&self) -> Stamp {
        Stamp { time_ns: self.u64(TIME), site: Site(self.u32(SITE)) }
    }

    fn serial(&self) -> Serial {
        Serial(self.u64(SERIAL))
    }

    fn event(&self) -> Result<Event, Malformed> {
        let (holder, stamp, handle, generation) = (self.holder(), self.stamp(), self.handle(), self.generation());
        Ok(match self.0[0] {
            OPENED => Event::Opened { holder, stamp, guarded: self.flag(SEEN) },
            LEFT => Event::Left { holder, stamp },
            STRANGER => Event::Stranger { holder, pid: self.u32(SECOND), stamp },
            BORN => {
                let (kind, second_id, seen) = (self.kind()?, self.second(), self.flag(SEEN));
                Event::Born { kind, handle, second_id, holder, stamp, seen }
            }
            DYING => Event::Dying { kind: self.kind()?, handle, generation, holder, stamp },
            DESTROYED => Event::Destroyed { kind: self.kind()?, handle, generation, holder, stamp },
            REVIVED => Event::Revived { kind: self.kind()?, handle, generation, holder },
            VANISHED => Event::Vanished { kind: self.kind()?, handle, generation, holder, stamp },
            MOURNED => Event::Mourned { kind: self.kind()?, handle, generation, holder },
            EXPORT => Event::Exported { kind: self.kind()?, handle, generation, holder, stamp },
            KEPT => Event::Kept(self.object()?),
            ACQUIRED => {
                let (kind, serial, origin) = (self.kind()?, self.serial(), value(&ORIGINS, self.small())?);
                Event::Acquired { holder, serial, kind, handle, generation, origin, stamp }
            }
            RELEASED => Event::Released { holder, serial: self.serial(), how: value(&HOWS, self.small())?, stamp },
            CHILDREN => {
                let (child, delta) = (value(ChildKind::ALL, self.small())?, self.u32(DELTA).cast_signed());
                Event::Children { holder, pd: handle, generation, child, delta }
            }
            _ => return Err(Malformed),
        })
    }

    fn object(&self) -> Result<Object, Malformed> {
        let how = value(&ENDS, self.small() >> 2 & 3)?;
        let end_stamp = Stamp { time_ns: self.u64(END_TIME), site: Site(self.u32(END_SITE)) };
        let end = End { how, mark: Mark { holder: HolderId(self.u32(END_HOLDER)), stamp: end_stamp } };
        let inferred = !self.flag(SEEN);
        let told = self.generation().0.saturating_add(u64::from(self.u32(DELTA)));
        Ok(Object {
            kind: self.kind()?,
            handle: self.handle(),
            generation: self.generation(),
            second_id: self.second(),
            state: value(&STATES, self.small() & 3)?,
            born: Mark { holder: self.holder(), stamp: self.stamp() },
            inferred,
            exported: self.flag(EXPORTED),
            mourned: self.flag(IS_MOURNED),
            dying: self.small() >> 4,
            end: self.flag(HAS_END).then_some(end),
            told: if inferred { 0 } else { told },
        })
    }
}

/// What a record of a holder's segment says of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// It was acquired.
    Acquired(Serial),
    /// It ended.
    Released(Serial),
    /// Of something else.
    Other,
}

/// Which reference a record is of, without reading the rest.
pub(super) fn reference(bytes: &[u8; RECORD]) -> Of {
    match bytes[0] {
        ACQUIRED => Of::Acquired(Reader(bytes).serial()),
        RELEASED => Of::Released(Reader(bytes).serial()),
        _ => Of::Other,
    }
}

/// Reads an event. Only what [`encode`] writes is taken.
pub fn decode(bytes: &[u8]) -> Result<Event, Malformed> {
    let bytes: &[u8; RECORD] = bytes.try_into().map_err(|_| Malformed)?;
    let event = Reader(bytes).event()?;
    if encode(&event) == *bytes { Ok(event) } else { Err(Malformed) }
}
