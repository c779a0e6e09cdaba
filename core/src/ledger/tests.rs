//! What the fold makes of stories told in the order in which they can arrive.

use crate::ledger::*;
use crate::site::Site;

const A: HolderId = HolderId(1);
const B: HolderId = HolderId(2);
const PD: Kind = Kind::Pd;
const H: Handle = Handle(3);

fn stamp(time_ns: u64) -> Stamp {
    Stamp { time_ns, site: Site(7) }
}

fn born(kind: Kind, second_id: u32, holder: HolderId) -> Event {
    Event::Born { kind, handle: H, second_id: Some(second_id), holder, stamp: stamp(1), seen: true }
}

fn met(kind: Kind, second_id: u32, holder: HolderId) -> Event {
    Event::Born { kind, handle: H, second_id: Some(second_id), holder, stamp: stamp(2), seen: false }
}

fn dying(generation: Generation, holder: HolderId) -> Event {
    Event::Dying { kind: PD, handle: H, generation, holder, stamp: stamp(3) }
}

fn destroyed(generation: Generation, holder: HolderId) -> Event {
    Event::Destroyed { kind: PD, handle: H, generation, holder, stamp: stamp(4) }
}

fn revived(generation: Generation, holder: HolderId) -> Event {
    Event::Revived { kind: PD, handle: H, generation, holder }
}

fn acquired(serial: u64, generation: Generation, holder: HolderId) -> Event {
    let stamp = stamp(5);
    Event::Acquired { holder, serial: Serial(serial), kind: PD, handle: H, generation, origin: Origin::Imported, stamp }
}

fn released(serial: u64, holder: HolderId) -> Event {
    Event::Released { holder, serial: Serial(serial), how: How::Unimported, stamp: stamp(6) }
}

fn fold(events: &[Event]) -> FileState {
    let mut state = FileState::new();
    events.iter().for_each(|event| {
        state.push(event);
    });
    state
}

fn now(state: &FileState) -> (Generation, ObjectState) {
    let object = state.object(PD, H).expect("an object");
    (object.generation, object.state)
}

#[test]
fn a_birth_under_a_dying_handle_commits_that_death() {
    let g1 = Generation(1);
    let mut state = fold(&[born(PD, 10, A), dying(g1, A), born(PD, 11, B)]);
    assert_eq!(now(&state), (Generation(3), ObjectState::Live));
    let dead = *state.object_by_generation(g1).expect("remembered");
    assert_eq!((dead.state, dead.end.map(|end| end.how)), (ObjectState::Destroyed, Some(EndHow::Overtaken)));

    // The late word about the old one does not touch the new one, and completes what is known of the old.
    state.push(&destroyed(g1, A));
    assert_eq!(now(&state), (Generation(3), ObjectState::Live));
    let end = state.object_by_generation(g1).and_then(|object| object.end).expect("an end");
    assert_eq!((end.how, end.mark.holder, end.mark.stamp), (EndHow::Destroyed, A, stamp(4)));
}

#[test]
fn a_failed_destroy_leaves_it_alive_and_so_does_the_other_of_two() {
    let g = Generation(1);
    let state = fold(&[born(PD, 10, A), dying(g, A), revived(g, A)]);
    assert_eq!(now(&state), (g, ObjectState::Live));
    assert_eq!(state.object(PD, H).and_then(|object| object.end), None);

    let two = fold(&[born(PD, 10, A), dying(g, A), dying(g, B), revived(g, B)]);
    assert_eq!(now(&two), (g, ObjectState::Dying));
    let done = fold(&[born(PD, 10, A), dying(g, A), dying(g, B), destroyed(g, A), revived(g, B)]);
    assert_eq!(now(&done), (g, ObjectState::Destroyed));
}

#[test]
fn a_birth_over_a_live_handle_tells_of_an_unseen_death() {
    let state = fold(&[born(PD, 10, A), born(PD, 10, B)]);
    assert_eq!(now(&state).0, Generation(2));
    let end = state.object_by_generation(Generation(1)).and_then(|object| object.end).expect("an end");
    assert_eq!((end.how, end.mark.holder), (EndHow::Unseen, B));
    assert_eq!(state.generations(PD, H).count(), 2);
    assert!(state.is_lost(), "somebody does not tell");
    assert!(!fold(&[born(PD, 10, A), dying(Generation(1), A), born(PD, 11, B)]).is_lost(), "A's word is on its way");
}

#[test]
fn what_the_kernel_does_not_know_any_more_is_dead_unless_its_end_is_being_told() {
    let g = Generation(1);
    let vanished = Event::Vanished { kind: PD, handle: H, generation: g, holder: B, stamp: stamp(2) };
    let state = fold(&[born(PD, 10, A), vanished]);
    assert_eq!(now(&state), (g, ObjectState::Destroyed));
    let end = state.object(PD, H).and_then(|object| object.end).expect("an end");
    assert_eq!((end.how, end.mark.holder, state.is_lost()), (EndHow::Unseen, B, true));

    let state = fold(&[born(PD, 10, A), dying(g, A), vanished]);
    assert_eq!((now(&state), state.is_lost()), ((g, ObjectState::Dying), false));
    let state = fold(&[born(PD, 10, A), dying(g, A), destroyed(g, A), vanished]);
    let end = state.object(PD, H).and_then(|object| object.end).expect("an end");
    assert_eq!((end.how, end.mark.holder, state.is_lost()), (EndHow::Destroyed, A, false));
}

#[test]
fn what_an_importer_met_first_becomes_one_with_what_its_maker_tells() {
    let mut state = fold(&[met(PD, 10, B)]);
    assert!(state.object(PD, H).is_some_and(|object| object.inferred && object.born.holder == B));
    let seq = state.push(&born(PD, 10, A));
    let object = state.object_told(PD, H, seq).expect("found by what its maker told");
    assert_eq!((object.generation, object.inferred, object.born.holder), (Generation(1), false, A));
    assert_eq!(state.objects().count(), 1);

    // With another pdn it is another PD.
    let other = fold(&[met(PD, 10, B), born(PD, 11, A)]);
    assert_eq!(now(&other).0, Generation(2));
    // One that is dying is not met but dead.
    let dying_one = fold(&[met(PD, 10, B), dying(Generation(1), B), born(PD, 10, A)]);
    assert_eq!(now(&dying_one).0, Generation(3));
}

#[test]
fn an_import_proves_a_pd_and_nothing_about_a_umem() {
    assert_eq!(now(&fold(&[born(PD, 10, A), met(PD, 10, B)])).0, Generation(1));
    assert_eq!(now(&fold(&[born(PD, 10, A), met(PD, 12, B)])).0, Generation(2));

    let umem = fold(&[born(Kind::Umem, 20, A), met(Kind::Umem, 21, B)]);
    assert_eq!(
        umem.object(Kind::Umem, H).map(|object| (object.generation, object.second_id)),
        Some((Generation(1), Some(20)))
    );
    let blob = fold(&[born(PD, 10, A), met(Kind::Umem, 21, B)]);
    assert!(blob.object(PD, H).is_some_and(Object::may_live));
}

#[test]
fn both_kinds_share_the_numbers() {
    let state = fold(&[born(PD, 10, A), born(Kind::Umem, 20, A)]);
    assert_eq!(now(&state).1, ObjectState::Destroyed);
    assert!(state.object(Kind::Umem, H).is_some_and(Object::may_live));
}

#[test]
fn a_generation_of_another_handle_or_of_the_future_is_ignored() {
    let mut state = fold(&[born(PD, 10, A)]);
    state.push(&Event::Destroyed {
        kind: PD,
        handle: Handle(4),
        generation: Generation(1),
        holder: B,
        stamp: stamp(1),
    });
    state.push(&destroyed(Generation(99), B));
    state.push(&dying(Generation(0), B));
    assert_eq!(now(&state), (Generation(1), ObjectState::Live));
}

#[test]
fn references_are_counted_by_holder_and_serial() {
    let g = Generation(1);
    let mut state = fold(&[born(PD, 10, A), acquired(1, g, A), acquired(1, g, B), acquired(2, g, B), released(2, B)]);
    assert_eq!((state.references(g).count(), state.references_of_others(g, A).count()), (2, 1));
    state.push(&released(9, B));
    state.forget_holder(B);
    assert_eq!(state.references(g).map(|reference| reference.holder).collect::<Vec<_>>(), [A]);
    assert_eq!(state.references_of(B).count(), 0);
}

#[test]
fn children_are_counted_by_holder() {
    let g = Generation(1);
    let child = |holder, delta| Event::Children { holder, pd: H, generation: g, child: ChildKind::Mr, delta };
    let state = fold(&[born(PD, 10, A), child(A, 1), child(B, 3), child(B, -1), child(A, -1)]);
    assert_eq!(state.children_of(g).collect::<Vec<_>>(), [(B, ChildKind::Mr, 2)]);
}

#[test]
fn the_dead_are_forgotten_in_order_and_the_referenced_are_not() {
    let mut state = FileState::new();
    state.push(&born(PD, 10, A));
    state.push(&acquired(1, Generation(1), B));
    for _ in 0..3 * REMEMBERED_DEAD {
        state.push(&born(PD, 10, A));
    }
    assert_eq!(state.objects().count(), REMEMBERED_DEAD + 2);
    assert!(state.object_by_generation(Generation(1)).is_some());
    state.push(&released(1, B));
    state.push(&born(PD, 10, A));
    assert_eq!(state.objects().count(), REMEMBERED_DEAD + 1);
}

#[test]
fn a_history_is_whole_when_the_opener_was_guarded_and_no_stranger_came() {
    let opened = |guarded| Event::Opened { holder: A, stamp: stamp(1), guarded };
    let stranger = Event::Stranger { holder: A, pid: 5, stamp: stamp(2) };
    assert!(fold(&[opened(true), opened(false)]).whole());
    assert!(!fold(&[opened(false), opened(true)]).whole());
    assert!(!fold(&[opened(true), stranger]).whole());
    assert!(!fold(&[]).whole());
    let mut lost = fold(&[opened(true)]);
    lost.set_lost();
    assert!(!lost.whole());
}

#[test]
fn a_dead_object_stays_known_as_long_as_this_process_holds_it() {
    let mut state = fold(&[born(PD, 10, A)]);
    let held = now(&state).0;
    state.hold(held);
    state.push(&destroyed(held, A));
    let bury_others = |state: &mut FileState| {
        for _ in 0..2 * REMEMBERED_DEAD {
            state.push(&born(PD, 11, A));
            let young = now(state).0;
            state.push(&destroyed(young, A));
        }
    };
    bury_others(&mut state);
    let dead = state.object_by_generation(held).copied().expect("it is held");
    // A snapshot is read in place of what was known; what is held here is not in it.
    state.forget_objects();
    state.push(&Event::Kept(dead));
    bury_others(&mut state);
    assert!(state.object_by_generation(held).is_some(), "it is still held");
    state.let_go(held);
    bury_others(&mut state);
    assert!(state.object_by_generation(held).is_none());
}

#[test]
fn what_is_held_is_forgotten_in_time_like_the_rest() {
    let mut state = fold(&[born(PD, 10, A)]);
    let held = now(&state).0;
    state.hold(held);
    state.push(&destroyed(held, A));
    state.let_go(held);
    assert!(state.object_by_generation(held).is_some(), "remembered for a while");
    for _ in 0..=REMEMBERED_DEAD {
        state.push(&born(PD, 11, A));
    }
    assert!(state.object_by_generation(held).is_none());
}

#[test]
fn no_number_of_changes_stands_for_two_sets_of_objects() {
    let mut state = FileState::new();
    let mut seen = Vec::new();
    for _ in 0..3 {
        for handle in 0..4 {
            state.push(&born(PD, handle, A));
            seen.push(state.changes());
        }
        state.forget_objects();
        seen.push(state.changes());
    }
    assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
}
