//! Properties of the ledger's safe part: whatever comes, it answers, and as a simpler model does.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use verbsguard_core::ledger::log::{Header, SLOT_WORDS};
use verbsguard_core::ledger::record;
use verbsguard_core::ledger::snapshot::{Cursor, objects};
use verbsguard_core::ledger::*;
use verbsguard_core::site::Site;

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Pd), Just(Kind::Umem)]
}

fn child() -> impl Strategy<Value = ChildKind> {
    prop::sample::select(ChildKind::ALL)
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<u64>(), any::<u32>()).prop_map(|(time_ns, site)| Stamp { time_ns, site: Site(site) })
}

prop_compose! {
    /// Few handles, generations and holders, so that they meet.
    fn about()(kind in kind(), handle in 0u32..4, generation in 0u64..40, holder in 1u32..4, stamp in stamp())
        -> (Kind, Handle, Generation, HolderId, Stamp) {
        (kind, Handle(handle), Generation(generation), HolderId(holder), stamp)
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (about(), any::<bool>()).prop_map(|((.., holder, stamp), guarded)| Event::Opened { holder, stamp, guarded }),
        1 => about().prop_map(|(.., holder, stamp)| Event::Left { holder, stamp }),
        1 => (about(), any::<u32>()).prop_map(|((.., holder, stamp), pid)| Event::Stranger { holder, pid, stamp }),
        6 => (about(), proptest::option::of(0u32..3), any::<bool>()).prop_map(
            |((kind, handle, _, holder, stamp), second_id, seen)| Event::Born { kind, handle, second_id, holder, stamp, seen }
        ),
        3 => about().prop_map(|(kind, handle, generation, holder, stamp)| {
            Event::Dying { kind, handle, generation, holder, stamp }
        }),
        3 => about().prop_map(|(kind, handle, generation, holder, stamp)| {
            Event::Destroyed { kind, handle, generation, holder, stamp }
        }),
        2 => about().prop_map(|(kind, handle, generation, holder, _)| Event::Revived { kind, handle, generation, holder }),
        1 => about().prop_map(|(kind, handle, generation, holder, stamp)| {
            Event::Vanished { kind, handle, generation, holder, stamp }
        }),
        1 => about().prop_map(|(kind, handle, generation, holder, _)| Event::Mourned { kind, handle, generation, holder }),
        1 => about().prop_map(|(kind, handle, generation, holder, stamp)| {
            Event::Exported { kind, handle, generation, holder, stamp }
        }),
        2 => reference_event(),
    ]
}

fn reference_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (about(), 0u64..8).prop_map(|((kind, handle, generation, holder, stamp), serial)| {
            let (serial, origin) = (Serial(serial), Origin::Imported);
            Event::Acquired { holder, serial, kind, handle, generation, origin, stamp }
        }),
        2 => (about(), 0u64..8).prop_map(|((.., holder, stamp), serial)| {
            Event::Released { holder, serial: Serial(serial), how: How::Destroyed, stamp }
        }),
        1 => (about(), child(), -2i32..4).prop_map(|((_, pd, generation, holder, _), child, delta)| {
            Event::Children { holder, pd, generation, child, delta }
        }),
    ]
}

fn fold(events: &[Event]) -> FileState {
    let mut state = FileState::new();
    for event in events {
        if event.is_shared() {
            state.push(event);
        } else {
            state.apply(0, event);
        }
    }
    state
}

/// What can be asked of a state, in an order of its own.
fn answers(state: &FileState) -> String {
    let mut objects: Vec<Object> = state.objects().copied().collect();
    objects.sort_unstable_by_key(|object| object.generation);
    let current: Vec<_> = [Kind::Pd, Kind::Umem]
        .into_iter()
        .flat_map(|kind| (0..4).map(move |handle| (kind, Handle(handle))))
        .map(|(kind, handle)| state.generations(kind, handle).map(|object| object.generation).collect::<Vec<_>>())
        .collect();
    let joined: Vec<_> = state.joined().collect();
    format!("{objects:#?} {current:?} {joined:?} {:?} {:?} {}", state.first(), state.stranger(), state.is_lost())
}

/// Kind, handle, generation, second id, inferred, state, destroying calls.
type Known = (Kind, Handle, u64, Option<u32>, bool, ObjectState, u8);

/// The model: a list of all objects ever, searched from its end. It knows nothing of forgetting.
#[derive(Default)]
struct Model {
    objects: Vec<Known>,
    references: BTreeMap<(HolderId, Serial), Generation>,
    children: BTreeMap<(HolderId, Generation, Handle, ChildKind), i64>,
    seq: u64,
}

impl Model {
    fn apply(&mut self, event: &Event) {
        self.seq += u64::from(event.is_shared());
        match *event {
            Event::Born { kind, handle, second_id, seen, .. } => self.born(kind, handle, second_id, seen),
            Event::Dying { kind, handle, generation, .. } => self.change(kind, handle, generation, |state, dying| {
                if *state != ObjectState::Destroyed {
                    (*state, *dying) = (ObjectState::Dying, *dying + 1);
                }
            }),
            Event::Revived { kind, handle, generation, .. } => self.change(kind, handle, generation, |state, dying| {
                *dying = dying.saturating_sub(1);
                if *state == ObjectState::Dying && *dying == 0 {
                    *state = ObjectState::Live;
                }
            }),
            Event::Destroyed { kind, handle, generation, .. } => {
                self.change(kind, handle, generation, |state, dying| {
                    (*state, *dying) = (ObjectState::Destroyed, 0);
                })
            }
            Event::Vanished { kind, handle, generation, .. } => self.change(kind, handle, generation, |state, _| {
                if *state == ObjectState::Live {
                    *state = ObjectState::Destroyed;
                }
            }),
            Event::Acquired { holder, serial, generation, .. } => {
                self.references.insert((holder, serial), generation);
            }
            Event::Released { holder, serial, .. } => {
                self.references.remove(&(holder, serial));
            }
            Event::Children { holder, pd, generation, child, delta } => {
                *self.children.entry((holder, generation, pd, child)).or_default() += i64::from(delta);
            }
            Event::Left { holder, .. } => {
                self.references.retain(|(whose, _), _| *whose != holder);
                self.children.retain(|(whose, ..), _| *whose != holder);
            }
            _ => {}
        }
    }

    fn change(
        &mut self,
        kind: Kind,
        handle: Handle,
        generation: Generation,
        change: impl Fn(&mut ObjectState, &mut u8),
    ) {
        let fits = |object: &&mut Known| (object.0, object.1, object.2) == (kind, handle, generation.0);
        if let Some(object) = self.objects.iter_mut().find(fits) {
            change(&mut object.5, &mut object.6);
        }
    }

    fn born(&mut self, kind: Kind, handle: Handle, second: Option<u32>, seen: bool) {
        let last = self.objects.iter_mut().rev().find(|object| (object.0, object.1) == (kind, handle));
        if let Some(object) = last {
            let differs = object.3.is_some() && second.is_some() && object.3 != second;
            let merges = if seen {
                object.4 && object.5 == ObjectState::Live && !differs
            } else {
                object.5 != ObjectState::Destroyed && (kind == Kind::Umem || !differs)
            };
            if merges {
                object.3 = if seen { second.or(object.3) } else { object.3.or(second) };
                object.4 &= !seen;
                return;
            }
        }
        let proves = seen || kind == Kind::Pd;
        for object in self.objects.iter_mut().filter(|object| object.1 == handle && (object.0 == kind || proves)) {
            object.5 = ObjectState::Destroyed;
            object.6 = 0;
        }
        self.objects.push((kind, handle, self.seq, second, !seen, ObjectState::Live, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_event_reads_back_as_it_was_written(event in event()) {
        prop_assert_eq!(record::decode(&record::encode(&event)), Ok(event));
    }

    #[test]
    fn bytes_are_a_record_or_refused_and_never_both(bytes in vec(any::<u8>(), 0..80), kind in 0u8..14) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if let Ok(event) = record::decode(&bytes) {
            prop_assert_eq!(record::encode(&event).to_vec(), bytes);
        }
    }

    #[test]
    fn the_fold_is_what_the_model_says(events in vec(event(), 0..60)) {
        let state = fold(&events);
        let mut model = Model::default();
        events.iter().for_each(|event| model.apply(event));
        for (kind, handle, generation, second, inferred, object_state, dying) in &model.objects {
            let object = state.object_by_generation(Generation(*generation)).expect("few die");
            prop_assert_eq!(
                (object.kind, object.handle, object.second_id, object.inferred, object.state, object.dying),
                (*kind, *handle, *second, *inferred, *object_state, *dying)
            );
        }
        prop_assert_eq!(state.objects().count(), model.objects.len());
        for generation in (0..40).map(Generation) {
            let expected = model.references.values().filter(|each| **each == generation).count();
            prop_assert_eq!(state.references(generation).count(), expected);
            let children: i64 = model.children.iter().filter(|((_, g, ..), n)| *g == generation && **n > 0).map(|(_, n)| n).sum();
            prop_assert_eq!(state.children_of(generation).map(|(.., n)| n).sum::<u64>(), children.unsigned_abs());
        }
    }

    #[test]
    fn an_object_reads_back_as_it_was_written(events in vec(event(), 0..60)) {
        for object in fold(&events).objects() {
            prop_assert_eq!(record::decode(&record::encode(&Event::Kept(*object))), Ok(Event::Kept(*object)));
        }
    }

    #[test]
    fn a_snapshot_makes_the_same_state(events in vec(event().prop_filter("objects only", Event::is_shared), 0..80)) {
        let state = fold(&events);
        let mut again = FileState::new();
        objects(&state).iter().for_each(|event| again.apply(0, event));
        if state.is_lost() {
            // The header says so.
            again.set_lost();
        }
        prop_assert_eq!(answers(&again), answers(&state));
    }

    #[test]
    fn any_words_are_read_to_an_end(words in vec(prop_oneof![Just(0u64), any::<u64>(), 0u64..4], 8..200), real in any::<bool>()) {
        let mut words = words;
        let capacity = u32::try_from(words.len() / SLOT_WORDS - 1).expect("small");
        let header = Header { holder: HolderId(0), file: 7, base: u64::MAX - 2, snapshot: capacity / 2, capacity, halves: false };
        if real {
            words[..SLOT_WORDS].copy_from_slice(&header.to_slot(false));
        }
        if let Ok(header) = Header::read(words.as_slice()) {
            let mut state = FileState::new();
            Cursor::default().fold(words.as_slice(), &header, &mut state);
        } else {
            prop_assert!(!real);
        }
    }
}
