//! A holder's segment that is written lap after lap: whoever reads it, and whenever, sees what the holder had at some moment
//! of the reading, or is told that it cannot know.

mod mortal;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use mortal::Mortal;
use proptest::collection::vec;
use proptest::prelude::*;
use verbsguard_core::ledger::log::{self, Header, Memory, SLOT_WORDS};
use verbsguard_core::ledger::snapshot::{self, Cursor, Stop};
use verbsguard_core::ledger::*;
use verbsguard_core::ledger::{record, segment};

const ME: HolderId = HolderId(5);
const CAPACITY: u32 = 7;
const HEADER: Header = Header { holder: ME, file: 7, base: 0, snapshot: 0, capacity: CAPACITY, halves: true };
const PD: Handle = Handle(3);

/// Memory for a reader, beside whom others work: `work` is called before each load, with how many there were.
struct Beside<'a, F: FnMut(usize)>(&'a Mortal, Cell<usize>, RefCell<F>);

impl<'a, F: FnMut(usize)> Beside<'a, F> {
    fn new(sea: &'a Mortal, work: F) -> Self {
        Beside(sea, Cell::new(0), RefCell::new(work))
    }
}

impl<F: FnMut(usize)> Memory for Beside<'_, F> {
    fn words(&self) -> usize {
        self.0.words()
    }

    fn load(&self, at: usize) -> u64 {
        let loads = self.1.replace(self.1.get() + 1);
        (self.2.borrow_mut())(loads);
        self.0.load(at)
    }

    fn store(&self, _: usize, _: u64) {
        unreachable!("a reader")
    }

    fn swap_if(&self, _: usize, _: u64, _: u64) -> bool {
        unreachable!("a reader")
    }
}

/// The serials of the references that are live, and how many children there are.
type Holding = (Vec<u64>, u64);

fn holding(state: &FileState) -> Holding {
    let mut serials: Vec<u64> = state.references_of(ME).map(|reference| reference.serial.0).collect();
    serials.sort_unstable();
    (serials, state.children_of(Generation(1)).map(|(.., count)| count).sum())
}

/// The holder: what it has, and had after each of its records.
struct Writer<'a> {
    sea: &'a Mortal,
    at: Cursor,
    live: BTreeMap<u64, ()>,
    children: u64,
    serial: u64,
    history: Vec<Holding>,
    turns: u32,
}

impl<'a> Writer<'a> {
    fn new(sea: &'a Mortal) -> Self {
        let history = vec![(Vec::new(), 0)];
        Writer { sea, at: Cursor::default(), live: BTreeMap::new(), children: 0, serial: 0, history, turns: 0 }
    }

    fn now(&self) -> &Holding {
        self.history.last().expect("one at least")
    }

    fn note(&mut self) {
        self.history.push((self.live.keys().copied().collect(), self.children));
    }

    fn tell(&mut self, event: &Event) {
        let record = record::encode(event);
        if segment::append(self.sea, &HEADER, &mut self.at, &record).is_ok() {
            return;
        }
        let (kept, damaged) = segment::kept(self.sea, &HEADER, self.at.lap);
        assert!(!damaged);
        assert!(segment::turn(self.sea, &HEADER, &mut self.at, &kept), "{kept:?}");
        self.turns += 1;
        segment::append(self.sea, &HEADER, &mut self.at, &record).expect("half of it is free");
    }

    /// Something that it may do, as `choice` says; it never has more than fits twice into a half.
    fn step(&mut self, choice: u8) {
        let stamp = Stamp::default();
        let oldest = self.live.keys().copied().nth(usize::from(choice / 4) % self.live.len().max(1));
        match (choice % 4, oldest) {
            (1 | 2, Some(serial)) => self.release(serial),
            (3, _) => {
                let delta: i32 = if self.children > 0 { -1 } else { 2 };
                self.children = self.children.saturating_add_signed(delta.into());
                let child = ChildKind::Mr;
                self.note();
                self.tell(&Event::Children { holder: ME, pd: PD, generation: Generation(1), child, delta });
            }
            (_, Some(serial)) if self.live.len() >= 2 => self.release(serial),
            _ => {
                self.serial += 1;
                self.live.insert(self.serial, ());
                let (serial, generation, origin) = (Serial(self.serial), Generation(1), Origin::Imported);
                self.note();
                self.tell(&Event::Acquired {
                    holder: ME,
                    serial,
                    kind: Kind::Pd,
                    handle: PD,
                    generation,
                    origin,
                    stamp,
                });
            }
        }
    }

    fn release(&mut self, serial: u64) {
        self.live.remove(&serial);
        self.note();
        let serial = Serial(serial);
        self.tell(&Event::Released { holder: ME, serial, how: How::Unimported, stamp: Stamp::default() });
    }
}

/// A reader, and what it has seen.
#[derive(Clone, Default)]
struct Reader {
    at: Cursor,
    state: FileState,
}

impl Reader {
    fn look(&mut self, memory: &(impl Memory + ?Sized)) -> Holding {
        self.at.fold(memory, &HEADER, &mut self.state);
        holding(&self.state)
    }
}

/// A row of choices in which references live for a while, and some for long.
fn choice(i: usize) -> u8 {
    (i as u8).wrapping_mul(37).rotate_left(3) ^ (i as u8 >> 2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_at_any_pace_see_what_the_holder_has(steps in vec((any::<u8>(), 0usize..12), 0..200)) {
        let sea = Mortal::new(&HEADER);
        let mut writer = Writer::new(&sea);
        let mut readers = vec![Reader::default(); 4];
        for (choice, who) in steps {
            writer.step(choice);
            if let Some(reader) = readers.get_mut(who) {
                prop_assert_eq!(&reader.look(&sea), writer.now());
            }
        }
        for mut reader in readers {
            prop_assert_eq!(&reader.look(&sea), writer.now());
            prop_assert!(!reader.state.is_lost());
        }
    }
}

/// A holder that has written so many records, and a reader that is `behind` by some of them.
fn written(sea: &Mortal, before: usize, behind: usize) -> (Writer<'_>, Reader) {
    let (mut writer, mut reader) = (Writer::new(sea), Reader::default());
    for i in 0..before {
        if i + behind == before {
            reader.look(sea);
        }
        writer.step(choice(i));
    }
    (writer, reader)
}

/// The reader looks, and before one of its loads, the holder writes a burst of records. How often the reader looked at the
/// memory, and whether the holder came round.
fn burst_beside((before, behind): (usize, usize), when: usize, burst: usize) -> (usize, bool) {
    let sea = Mortal::new(&HEADER);
    let (mut writer, mut reader) = written(&sea, before, behind);
    let turns = writer.turns;
    let memory = Beside::new(&sea, |loads| {
        if loads == when {
            (before..before + burst).for_each(|i| writer.step(choice(i)));
        }
    });
    let stop = reader.at.fold(&memory, &HEADER, &mut reader.state);
    let loads = memory.1.get();
    let case = format!("{before} {behind} {when} {burst}");
    assert_eq!(stop == Stop::End, reader.at == Cursor { lap: writer.at.lap, index: CAPACITY }, "{case}");
    let (seen, possible) = (holding(&reader.state), &writer.history[before..]);
    assert!(possible.contains(&seen), "{case}: {seen:?} not in {possible:?}");
    assert_eq!(&reader.look(&sea), writer.now(), "{case}");
    assert!(!reader.state.is_lost());
    (loads, loads > when && writer.turns > turns + 1)
}

#[test]
fn a_reader_beside_whom_the_holder_writes_sees_one_moment() {
    let mut overtaken = 0;
    for before in 0..4 * CAPACITY as usize {
        // One that has not read yet, one that is up to date, and ones that are some records behind.
        for behind in [before, 0, 2, 5, 9, 13] {
            for burst in (1..4 * CAPACITY as usize).step_by(2) {
                let mut when = 0;
                loop {
                    let (loads, came_round) = burst_beside((before, behind), when, burst);
                    overtaken += usize::from(came_round);
                    when += 3;
                    if loads <= when {
                        break;
                    }
                }
            }
        }
    }
    assert!(overtaken > 1000, "{overtaken}");
}

#[test]
fn a_reader_that_is_overtaken_without_end_gives_up_and_says_so() {
    let sea = Mortal::new(&HEADER);
    let mut writer = Writer::new(&sea);
    (0..30).for_each(|i| writer.step(choice(i)));
    let mut i = 30;
    let mut reader = Reader::default();
    let memory = Beside::new(&sea, |_| {
        writer.step(choice(i));
        i += 1;
    });
    reader.look(&memory);
    assert!(memory.1.get() < 10_000 && reader.state.is_lost());
    assert_eq!(&reader.look(&sea), writer.now());
}

#[test]
fn a_holder_killed_at_any_operation_leaves_what_it_told() {
    let (mut killed, mut in_turn) = (0, 0);
    for before in 0..5 * CAPACITY as usize {
        for operations in 0..400 {
            let sea = Mortal::new(&HEADER);
            let mut writer = Writer::new(&sea);
            let mut reader = Reader::default();
            for i in 0..before {
                writer.step(choice(i));
                if i % 3 == 0 {
                    reader.look(&sea);
                }
            }
            let is_full = writer.at.index == CAPACITY;
            let survived = sea.within(operations, || writer.step(choice(before))).is_some();
            killed += usize::from(!survived);
            in_turn += usize::from(!survived && is_full);
            let possible = &writer.history[before..];
            for reader in [&mut reader, &mut Reader::default()] {
                let seen = reader.look(&sea);
                assert!(possible.contains(&seen), "{before} {operations}: {seen:?} not in {possible:?}");
                assert!(!survived || &seen == writer.now());
                assert!(!reader.state.is_lost());
            }
            if survived {
                break;
            }
        }
    }
    assert!(killed > 300 && in_turn > 100, "{killed} were killed, {in_turn} of them in a turn");
}

#[test]
fn a_damaged_segment_is_told_or_reads_as_it_once_was() {
    let sea = Mortal::new(&HEADER);
    let mut writer = Writer::new(&sea);
    (0..)
        .take_while(|i| {
            writer.step(choice(*i));
            writer.turns < 4 || writer.at.index < CAPACITY - 1
        })
        .for_each(drop);
    let (mut told, mut silent) = (0, 0);
    for bit in 6 * 64..HEADER.words() * 64 {
        let mut words = sea.words.borrow().clone();
        words[bit / 64] ^= 1 << (bit % 64);
        let mut reader = Reader::default();
        let seen = reader.look(words.as_slice());
        let lost = reader.state.is_lost();
        assert!(lost || writer.history.contains(&seen), "bit {bit}: {seen:?}");
        // The mark that a file is followed by another says nothing of what is in it.
        let followed = 7 * 64 + 1;
        assert!(lost || bit / 64 > 7 || bit == followed, "the lap and the mark of loss are told of, bit {bit}");
        told += usize::from(lost);
        silent += usize::from(!lost && &seen != writer.now());
    }
    // All bits of a record and of its checksum, and of the word that says which lap it is.
    assert!(told >= (CAPACITY as usize - 1) * 480 + 60, "{told} were told");
    assert!(silent <= 3 * CAPACITY as usize, "{silent} read as it once was");
}

#[test]
fn what_is_damaged_in_a_full_lap_is_noticed_by_its_holder() {
    let sea = Mortal::new(&HEADER);
    let mut writer = Writer::new(&sea);
    (0..)
        .take_while(|i| {
            writer.step(choice(*i));
            writer.turns < 3 || writer.at.index < CAPACITY
        })
        .for_each(drop);
    let lap = writer.at.lap;
    assert!(lap > 1 && !segment::kept(&sea, &HEADER, lap).1);
    for index in 0..CAPACITY as usize {
        let slot = ((lap % 2 * CAPACITY) as usize + index + 1) * SLOT_WORDS;
        for damage in [0, 1 << 9, 1 << 32] {
            let mut words = sea.words.borrow().clone();
            words[slot] = if damage == 0 { 0 } else { words[slot] ^ damage };
            assert!(segment::kept(words.as_slice(), &HEADER, lap).1, "slot {index}, {damage:#x}");
        }
    }
}

#[test]
fn a_half_is_begun_only_where_half_of_it_stays_free_and_laps_are_left() {
    let event = Event::Released { holder: ME, serial: Serial(1), how: How::Unimported, stamp: Stamp::default() };
    let (three, four) = ([event; 3], [event; 4]);
    let sea = Mortal::new(&HEADER);
    let turn = |lap: u32, kept: &[Event], header: &Header| {
        let mut at = Cursor { lap, index: CAPACITY };
        let turned = segment::turn(&sea, header, &mut at, kept);
        (turned, at)
    };
    assert_eq!(turn(8, &three, &HEADER), (true, Cursor { lap: 9, index: 3 }));
    let last = (1 << 24) - 1;
    assert_eq!(turn(last - 1, &three, &HEADER), (true, Cursor { lap: last, index: 3 }));
    let before = sea.words.borrow().clone();
    for (lap, kept, halves) in [(8, four.as_slice(), true), (last, &three, true), (8, &three, false)] {
        assert!(!turn(lap, kept, &Header { halves, ..HEADER }).0);
    }
    assert_eq!(*sea.words.borrow(), before, "nothing is touched");
}

#[test]
fn a_full_segment_says_whether_there_is_another_file() {
    let sea = Mortal::new(&HEADER);
    let mut writer = Writer::new(&sea);
    let mut reader = Reader::default();
    for i in 0..200 {
        writer.step(choice(i));
        let stop = reader.at.fold(&sea, &HEADER, &mut reader.state);
        let is_full = writer.at.index == CAPACITY;
        assert_eq!(stop, if is_full { Stop::End } else { Stop::UpToDate });
    }
    assert!(writer.turns > 10);
}

#[test]
fn a_copy_is_whole_until_its_half_is_used_again() {
    let sea = Mortal::new(&HEADER);
    let mut writer = Writer::new(&sea);
    (0..40).for_each(|i| writer.step(choice(i)));
    let copy = sea.words.borrow().clone();
    let turns = writer.turns;
    for i in 40..200 {
        let whole = snapshot::is_whole(copy.as_slice(), &sea, &HEADER);
        assert_eq!(whole, writer.turns <= turns + 1);
        writer.step(choice(i));
    }
    // A slot that was copied in the middle of being written has its new first word and something else behind it.
    let now = sea.words.borrow().clone();
    assert!(snapshot::is_whole(now.as_slice(), &sea, &HEADER) && writer.at.index > 0);
    let slot = ((writer.at.lap % 2 * CAPACITY + writer.at.index) as usize) * SLOT_WORDS;
    let mut torn = now;
    torn[slot + 5] ^= 1;
    assert!(!snapshot::is_whole(torn.as_slice(), &sea, &HEADER));
}

#[test]
fn a_segment_grows_and_shrinks_by_new_files() {
    let first = Header { capacity: 255, halves: false, ..HEADER };
    let sizes =
        |full: &Header, kept| segment::next_header(full, kept).map(|next| (next.capacity, next.halves, next.snapshot));
    assert_eq!(sizes(&first, 3), Some((511, false, 3)));
    assert_eq!(sizes(&Header { capacity: 1023, ..first }, 3), Some((2047, true, 3)));
    assert_eq!(sizes(&first, 1000), Some((2000, false, 1000)), "what is kept never fills more than half");
    let usual = Header { capacity: 2047, halves: true, ..first };
    assert_eq!(sizes(&usual, 1023), Some((2047, true, 1023)));
    assert_eq!(sizes(&usual, 1024), Some((4095, false, 1024)));
    assert_eq!(sizes(&usual, 100_000), Some((200_000, false, 100_000)));
    assert_eq!(sizes(&Header { capacity: 200_000, halves: false, ..first }, 5), Some((2047, true, 5)));
    assert_eq!(sizes(&usual, log::MOST_SLOTS as usize), None, "no longer than any log");
}

#[test]
fn only_what_fits_its_header_is_a_turn() {
    // A word that says more than the half has, and one in a segment without halves.
    for (halves, capacity) in [(true, 1), (false, CAPACITY)] {
        let sea = Mortal::new(&HEADER);
        let mut writer = Writer::new(&sea);
        (0..60).for_each(|i| writer.step(choice(i * 4)));
        assert!(writer.turns > 2);
        let header = Header { halves, capacity, ..HEADER };
        let mut state = FileState::new();
        Cursor::default().fold(&sea, &header, &mut state);
        assert!(state.is_lost());
    }
}
