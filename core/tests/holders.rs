//! Who a report names as holders, where there are many.

mod worlds;

use std::time::Duration;

use verbsguard_core::check::Policy;
use verbsguard_core::ledger::Kind;
use verbsguard_core::options::Options;
use verbsguard_core::site::Site;
use verbsguard_core::track::{ContextOrigin, DeviceFile, Mark, Me, Newborn, OpenedContext, Origin, Tracker};
use worlds::NOBODY;

const CONTEXT: usize = 0x1000;

fn at(second: u64) -> Mark {
    Mark { site: Site(1), time: second * 1_000_000_000 }
}

/// A PD allocated at second 1 and imported at each of `seconds`.
fn tracker_with(seconds: impl Iterator<Item = u64>) -> Tracker {
    let tracker = Tracker::new(Policy(Options::default()), Me { pid: 7, comm: "many".into() });
    let file = tracker.find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, None));
    let opened = OpenedContext { address: CONTEXT, device: "d".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
    tracker.opened(opened, file, at(0));
    let births = std::iter::once((1, Origin::Owned)).chain(seconds.map(|second| (second, Origin::Imported)));
    for (count, (second, origin)) in births.enumerate() {
        let token = tracker.begin_birth(CONTEXT).outcome.expect("not refused").expect("a known context");
        let address = 0x10_0000 + 64 * count;
        let newborn = Newborn { address, kind: Kind::Pd, handle: 0, second_id: Some(5), size: 0, origin };
        tracker.finish_birth(token, newborn, at(second), &NOBODY);
    }
    tracker
}

fn ages(tracker: &Tracker, address: usize, now: u64) -> Vec<u64> {
    let live = tracker.live();
    let reference = live.iter().find_map(|live| match live {
        verbsguard_core::track::Live::Reference(at, reference) if *at == address => Some(reference),
        _ => None,
    });
    let info = tracker.reference_info(address, reference.expect("a live reference"), now * 1_000_000_000);
    info.holders.iter().map(|holder| holder.age.map_or(0, |age| Duration::as_secs(&age))).collect()
}

#[test]
fn the_eldest_of_many_holders_are_named_and_never_the_reference_itself() {
    let tracker = tracker_with((2..50).rev());
    // The owner is a holder to the others, and the youngest are left out.
    let expected: Vec<u64> = std::iter::once(99).chain((84..=98).rev()).collect();
    let youngest = 0x10_0000 + 64;
    assert_eq!(ages(&tracker, youngest, 100), expected);
    // The owner itself is not its own holder.
    assert_eq!(ages(&tracker, 0x10_0000, 100), (83..=98).rev().collect::<Vec<_>>());
}

#[test]
fn a_reference_alone_has_no_holders() {
    assert_eq!(ages(&tracker_with(std::iter::empty()), 0x10_0000, 100), Vec::<u64>::new());
    assert_eq!(ages(&tracker_with(2..3), 0x10_0000, 100), [98]);
}
