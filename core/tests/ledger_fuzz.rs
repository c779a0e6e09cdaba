//! The fuzz target's own work, bounded, without a fuzzer: from a corpus of real files and random damage to them.

#[path = "../../fuzz/reader.rs"]
mod reader;

use verbsguard_core::ledger::log::{Header, ready_slot};
use verbsguard_core::ledger::record;
use verbsguard_core::ledger::*;

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

fn event(random: &mut Random) -> Event {
    let holder = HolderId(1 + random.below(3) as u32);
    let (handle, generation) = (Handle(random.below(4) as u32), Generation(random.below(30) as u64));
    let kind = [Kind::Pd, Kind::Umem][random.below(2)];
    let (stamp, serial) = (Stamp::default(), Serial(random.below(5) as u64));
    match random.below(11) {
        0 => Event::Opened { holder, stamp, guarded: random.below(2) == 0 },
        1 => Event::Left { holder, stamp },
        2 => Event::Dying { kind, handle, generation, holder, stamp },
        3 => Event::Destroyed { kind, handle, generation, holder, stamp },
        8 => Event::Vanished { kind, handle, generation, holder, stamp },
        9 => Event::Mourned { kind, handle, generation, holder },
        4 => Event::Revived { kind, handle, generation, holder },
        5 => Event::Acquired { holder, serial, kind, handle, generation, origin: Origin::Inherited, stamp },
        6 => Event::Released { holder, serial, how: How::Abandoned, stamp },
        7 => Event::Children {
            holder,
            pd: handle,
            generation,
            child: ChildKind::Qp,
            delta: i32::MIN >> random.below(32),
        },
        _ => Event::Born {
            kind,
            handle,
            second_id: Some(random.below(3) as u32),
            holder,
            stamp,
            seen: random.below(3) > 0,
        },
    }
}

/// A file as a process may leave it.
fn file(random: &mut Random) -> Vec<u8> {
    let events: Vec<Event> = (0..random.below(60)).map(|_| event(random)).collect();
    let holder = HolderId(random.below(2) as u32);
    let halves = holder != HolderId(0) && random.below(2) == 0;
    let capacity = events.len() as u32 / if halves { 2 } else { 1 };
    let header = Header { holder, file: 7, base: 0, snapshot: 0, capacity, halves };
    let slots = events.iter().map(|event| ready_slot(random.below(3) as u32, &record::encode(event)));
    std::iter::once(header.to_slot(false)).chain(slots).flatten().flat_map(u64::to_le_bytes).collect()
}

#[test]
fn damaged_files_are_read_to_an_end() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..400 {
        let mut bytes = file(&mut random);
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len().max(1));
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), random.below(256) as u8),
                _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                _ => {}
            }
        }
        reader::read(&bytes);
    }
}

#[test]
fn records_in_any_order_are_read_to_an_end() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..400 {
        let events = (0..random.below(80)).map(|_| event(&mut random)).collect::<Vec<_>>();
        let kept: Vec<Event> = {
            let mut state = FileState::new();
            events.iter().for_each(|event| {
                state.push(event);
            });
            state
                .objects()
                .map(|object| Event::Kept(Object { handle: Handle(random.below(3) as u32), ..*object }))
                .collect()
        };
        let bytes: Vec<u8> = events.iter().chain(&kept).chain(&events).flat_map(record::encode).collect();
        reader::read(&bytes);
    }
}

#[test]
fn bytes_at_random_are_read_to_an_end() {
    let mut random = Random(42);
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..random.below(600)).map(|_| random.below(256) as u8).collect();
        reader::read(&bytes);
    }
}
