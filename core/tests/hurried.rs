//! An import whose blob means nothing here, where there was no time to look for it everywhere else.

mod worlds;

use verbsguard_core::check::Policy;
use verbsguard_core::ledger::Kind;
use verbsguard_core::options::Options;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{ContextOrigin, DeviceFile, Elsewhere, Mark, Me, Newborn, OpenedContext, Origin, Tracker};
use worlds::{Alone, NOBODY};

const CONTEXT: usize = 0x1000;
const HANDLE: u32 = 11;

/// All that happened here was seen; of other device files not all were looked at.
const HURRIED: Alone = Alone { elsewhere: Elsewhere::NotAllSeen, ..NOBODY };

#[test]
fn a_blob_that_may_be_of_elsewhere_is_no_object_here() {
    let tracker = Tracker::new(Policy(Options::default()), Me::default());
    let file = tracker.find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, None));
    let opened = OpenedContext { address: CONTEXT, device: "mlx5_0".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
    tracker.opened(opened, file, Mark::default());
    let token = tracker.begin_birth(CONTEXT).outcome.unwrap().unwrap();
    let new = Newborn {
        address: 0x2000,
        kind: Kind::Umem,
        handle: HANDLE,
        second_id: Some(5),
        size: 0,
        origin: Origin::Imported,
    };
    let faults = tracker.finish_birth(token, new, Mark::default(), &HURRIED);
    let judged: Vec<_> = faults.iter().map(|(fault, _)| (fault.rule, fault.severity)).collect();
    assert_eq!(judged, [(Rule::UmemBlobForged, Severity::Note)]);
    assert!(file.current(Kind::Umem, HANDLE).is_none(), "it would have been seen here");
}
