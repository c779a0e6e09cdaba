//! The log that several processes write: killed and stopped writers, damage, other versions.

mod mortal;

use std::cell::Cell;

use mortal::Mortal;
use verbsguard_core::ledger::log::{self, Header, Memory, SLOT_WORDS};
use verbsguard_core::ledger::record::{self, RECORD};
use verbsguard_core::ledger::snapshot::{Cursor, Stop};
use verbsguard_core::ledger::*;

#[test]
fn a_record_with_one_or_two_bits_damaged_is_passed_over_and_told() {
    let header = Header { holder: HolderId(0), file: 7, base: 0, snapshot: 0, capacity: 2, halves: false };
    let born = |handle| Event::Born {
        kind: Kind::Pd,
        handle: Handle(handle),
        second_id: None,
        holder: HolderId(1),
        stamp: Stamp::default(),
        seen: true,
    };
    let mut words = header.to_slot(false).to_vec();
    words.extend([1, 2].map(|handle| log::ready_slot(1, &record::encode(&born(handle)))).concat());
    let flip = |words: &mut Vec<u64>, bit: usize| words[SLOT_WORDS + 1 + bit / 64] ^= 1 << (bit % 64);
    for one in 0..RECORD * 8 {
        flip(&mut words, one);
        let mut state = FileState::new();
        assert_eq!(Cursor::default().fold(words.as_slice(), &header, &mut state), Stop::End);
        assert!(state.is_lost());
        assert_eq!(state.objects().map(|object| object.handle).collect::<Vec<_>>(), [Handle(2)]);
        for other in 0..one {
            flip(&mut words, other);
            assert_eq!(log::read(words.as_slice(), 0), log::Slot::Damaged, "bits {one} and {other}");
            flip(&mut words, other);
        }
        flip(&mut words, one);
    }
}

#[test]
fn a_writer_killed_at_any_operation_leaves_a_log_that_goes_on() {
    let header = Header { holder: HolderId(0), file: 7, base: 100, snapshot: 0, capacity: 16, halves: false };
    let born = |handle, holder| Event::Born {
        kind: Kind::Pd,
        handle: Handle(handle),
        second_id: None,
        holder: HolderId(holder),
        stamp: Stamp::default(),
        seen: true,
    };
    let mut killed = 0;
    for operations in 0..40 {
        let memory = Mortal::new(&header);
        let append = |handle, holder| {
            log::append(&memory, &header, HolderId(holder), &record::encode(&born(handle, holder))).expect("room")
        };
        append(1, 1);
        let told = memory.within(operations, || append(2, 2));
        killed += usize::from(told.is_none());
        append(3, 3);
        let mut state = FileState::new();
        let mut cursor = Cursor::default();
        while let Stop::Busy(writer) = cursor.fold(&memory, &header, &mut state) {
            assert_eq!((writer, told), (HolderId(2), None), "only the dead one's slot is unfinished");
            assert!(log::make_void(&memory, cursor.index, writer));
        }
        let mut handles: Vec<u32> = state.objects().map(|object| object.handle.0).collect();
        handles.sort_unstable();
        assert!(handles == [1, 2, 3] || (told.is_none() && handles == [1, 3]), "{operations}: {handles:?}");
        assert!(!state.is_lost());
    }
    assert!((10..40).contains(&killed), "{killed} of 40 were killed inside");
}

/// A writer whose slot is taken away while it is stopped just before it publishes, the first time.
struct Stopped<'a>(&'a Mortal, Cell<bool>);

impl Memory for Stopped<'_> {
    fn words(&self) -> usize {
        self.0.words()
    }

    fn load(&self, at: usize) -> u64 {
        self.0.load(at)
    }

    fn store(&self, at: usize, value: u64) {
        self.0.store(at, value);
    }

    fn swap_if(&self, at: usize, old: u64, new: u64) -> bool {
        if at == SLOT_WORDS && old != 0 && !self.1.replace(true) {
            assert!(log::make_void(self.0, 0, HolderId(2)));
            assert!(!log::make_void(self.0, 0, HolderId(2)), "once is enough");
        }
        self.0.swap_if(at, old, new)
    }
}

#[test]
fn a_writer_that_was_given_up_writes_again_in_a_later_slot() {
    let header = Header { holder: HolderId(0), file: 7, base: 0, snapshot: 0, capacity: 4, halves: false };
    let memory = Mortal::new(&header);
    let left = Event::Left { holder: HolderId(2), stamp: Stamp::default() };
    let stopped = Stopped(&memory, Cell::new(false));
    assert_eq!(log::append(&stopped, &header, HolderId(2), &record::encode(&left)), Ok(1));
    assert_eq!(log::read(&memory, 0), log::Slot::Void);
    assert_eq!(log::read(&memory, 1), log::Slot::Record(record::encode(&left)));
}

#[test]
fn a_full_log_says_so_and_sequence_numbers_go_on_in_the_next() {
    let header = Header { holder: HolderId(0), file: 7, base: 0, snapshot: 1, capacity: 3, halves: false };
    let memory = Mortal::new(&header);
    let left = record::encode(&Event::Left { holder: HolderId(2), stamp: Stamp::default() });
    assert_eq!(
        (0..3).map(|_| log::append(&memory, &header, HolderId(2), &left)).collect::<Vec<_>>(),
        [Ok(1), Ok(2), Err(log::Full)]
    );
    assert_eq!((header.seq(0), header.seq(1), header.seq(2), header.end()), (0, 1, 2, 2));
}

#[test]
fn a_header_of_another_kind_is_refused() {
    let header = Header { holder: HolderId(3), file: 7, base: 9, snapshot: 1, capacity: 1, halves: false };
    let mut words = header.to_slot(false).to_vec();
    words.resize(2 * SLOT_WORDS, 0);
    assert_eq!(Header::read(words.as_slice()), Ok(header));
    assert_eq!(Header::read(&words[..15]), Err(log::Foreign::NoLog), "too short for its capacity");
    for at in 0..6 {
        let mut damaged = words.clone();
        damaged[at] ^= 1 << 40;
        assert_eq!(Header::read(damaged.as_slice()), Err(log::Foreign::NoLog), "word {at}");
    }
    words[1] += 1;
    assert_eq!(Header::read(words.as_slice()), Err(log::Foreign::Version(4)));
}
