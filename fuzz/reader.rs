// What the fuzz target and `cargo test` do with hostile bytes: read them as each kind of ledger file, and ask the state
// that comes out everything that can be asked. Shared, so that both do the same.

use verbsguard_core::ledger::log::{Header, SLOT_WORDS, ready_slot};
use verbsguard_core::ledger::record::{self, RECORD};
use verbsguard_core::ledger::segment;
use verbsguard_core::ledger::snapshot::{Cursor, Stop, objects};
use verbsguard_core::ledger::{Event, FileId, FileState, Handle, HolderId, Kind, ProcessFile};
use verbsguard_core::site::Site;

/// Takes bytes as every kind of file.
pub fn read(bytes: &[u8]) {
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    if let Ok(header) = Header::read(words.as_slice()) {
        fold(&words, &header);
    }
    // With a header that fits, and with checksums that are right: past what random bytes hardly get through.
    for holder in [HolderId(0), HolderId(2)] {
        behind_a_header(
            holder,
            words.chunks_exact(SLOT_WORDS).map(|slot| slot.try_into().unwrap_or_default()).collect(),
        );
        let records = bytes.as_chunks::<RECORD>().0.iter();
        behind_a_header(holder, records.map(|record| ready_slot(0, record)).collect());
        let events: Vec<Event> =
            bytes.as_chunks::<RECORD>().0.iter().filter_map(|record| record::decode(record).ok()).collect();
        behind_a_header(holder, events.iter().map(|event| ready_slot(0, &record::encode(event))).collect());
    }
    let text = String::from_utf8_lossy(bytes);
    let file = ProcessFile::read(&text);
    (0..4).for_each(|site| drop(file.stack(Site(site))));
    if let Ok(id) = text.parse::<FileId>() {
        assert_eq!(id.file_name(), text);
    }
}

fn behind_a_header(holder: HolderId, slots: Vec<[u64; SLOT_WORDS]>) {
    let slots_of = u32::try_from(slots.len()).unwrap_or(u32::MAX);
    for halves in [false, holder != HolderId(0)] {
        let capacity = if halves { slots_of / 2 } else { slots_of };
        let header = Header { holder, file: 7, base: 5, snapshot: capacity / 3, capacity, halves };
        let words: Vec<u64> = std::iter::once(header.to_slot(false)).chain(slots.iter().copied()).flatten().collect();
        assert_eq!(Header::read(words.as_slice()), Ok(header));
        fold(&words, &header);
    }
}

fn fold(words: &[u64], header: &Header) {
    let mut state = FileState::new();
    let mut cursor = Cursor::default();
    while let Stop::Busy(_) = cursor.fold(words, header, &mut state) {
        cursor.index += 1;
    }
    assert!(cursor.index <= header.capacity);
    // Nothing grows beyond what is in the file.
    assert!(state.objects().count() <= header.capacity as usize);
    ask(&state);
    let mut again = FileState::new();
    if header.holder == HolderId(0) {
        objects(&state).iter().for_each(|event| again.apply(0, event));
        assert_eq!(again.objects().count(), state.objects().count());
    } else {
        let (events, _) = segment::kept(words, header, cursor.lap);
        assert!(events.iter().all(|event| event.holder() == header.holder));
        events.iter().for_each(|event| again.apply(0, event));
    }
    ask(&again);
}

fn ask(state: &FileState) {
    for object in state.objects() {
        assert!(state.generations(object.kind, object.handle).count() <= state.objects().count());
        state.references(object.generation).for_each(|reference| assert_eq!(reference.generation, object.generation));
        assert!(state.children_of(object.generation).all(|(.., count)| count > 0));
    }
    for kind in [Kind::Pd, Kind::Umem] {
        assert!(state.object(kind, Handle(1)).is_none_or(|object| object.handle == Handle(1)));
    }
    assert!(state.joined().all(|(holder, _)| state.references_of(holder).all(|reference| reference.holder == holder)));
    let _ = (state.whole(), state.first(), state.stranger(), state.last_seq());
}
