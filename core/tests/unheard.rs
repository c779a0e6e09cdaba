//! A birth that does not get into the record: nothing may be claimed of an object whose birth nobody can read.

mod worlds;

use verbsguard_core::check::Policy;
use verbsguard_core::ledger::{Event, FileState, Handle, HolderId, Kind, Stamp};
use verbsguard_core::options::Options;
use verbsguard_core::site::{Frame, Site};
use verbsguard_core::track::{
    ContextOrigin, DeviceFile, End, HolderFacts, Mark, Me, Newborn, OpenedContext, Origin, Record, Tracker,
};
use worlds::NOBODY;

const CONTEXT: usize = 0x1000;
const PD: usize = 0x2000;
const HANDLE: u32 = 3;
const OTHER: HolderId = HolderId(1);

/// Another process made a PD of that handle and destroyed it. What this process tells is numbered, and `heard` or not.
struct Log {
    state: FileState,
    heard: bool,
}

impl Log {
    fn new(heard: bool) -> Self {
        let mut state = FileState::new();
        let (kind, handle, stamp) = (Kind::Pd, Handle(HANDLE), Stamp { time_ns: 1, site: Site(1) });
        state.push(&Event::Born { kind, handle, second_id: Some(5), holder: OTHER, stamp, seen: true });
        let generation = state.object(kind, handle).expect("born").generation;
        state.push(&Event::Destroyed { kind, handle, generation, holder: OTHER, stamp });
        Log { state, heard }
    }
}

impl Record for Log {
    fn me(&self) -> HolderId {
        HolderId(2)
    }
    fn state(&self) -> &FileState {
        &self.state
    }
    fn state_mut(&mut self) -> &mut FileState {
        &mut self.state
    }
    fn tell(&mut self, event: &Event) -> Option<u64> {
        // As in a log that went on without us.
        if self.heard { event.is_shared().then(|| self.state.push(event)) } else { Some(1_000) }
    }
    fn refresh(&mut self) {}
    fn refresh_all(&mut self) {}
    fn is_alive(&mut self, _: HolderId) -> bool {
        true
    }
    fn holder(&mut self, _: HolderId) -> Option<HolderFacts> {
        Some(HolderFacts { pid: 9, comm: "other".into() })
    }
    fn frames(&self, _: HolderId, _: Site) -> Vec<Frame> {
        Vec::new()
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn others(&mut self) -> Vec<HolderId> {
        Vec::new()
    }
    fn leave(&mut self) {}
}

/// The rules that a destroy of a PD of this process's own breaks.
fn said_of_a_destroy(heard: bool, origin: Origin) -> Vec<&'static str> {
    let tracker = Tracker::new(Policy(Options::default()), Me { pid: 7, comm: "one".into() });
    let record: Box<dyn Record> = Box::new(Log::new(heard));
    let file = tracker.find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, Some(record)));
    let opened = OpenedContext { address: CONTEXT, device: "d".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
    tracker.opened(opened, file, Mark::default());
    let token = tracker.begin_birth(CONTEXT).outcome.expect("not refused").expect("a known context");
    let newborn = Newborn { address: PD, kind: Kind::Pd, handle: HANDLE, second_id: Some(6), size: 0, origin };
    let mut found = tracker.finish_birth(token, newborn, Mark::default(), &NOBODY);
    let verdict = tracker.begin_release(PD, Kind::Pd, End::Destroy, &Mark::default(), &NOBODY);
    found.extend(verdict.faults);
    let token = verdict.outcome.expect("forwarded").expect("known");
    found.extend(tracker.finish_release(token, 0, Mark::default(), &NOBODY));
    found.into_iter().map(|(fault, _)| fault.rule.id()).collect()
}

#[test]
fn an_object_whose_birth_nobody_can_read_is_not_taken_for_the_one_before_it() {
    for origin in [Origin::Owned, Origin::Imported] {
        assert_eq!(said_of_a_destroy(true, origin), Vec::<&str>::new(), "heard, {origin:?}");
        assert_eq!(said_of_a_destroy(false, origin), Vec::<&str>::new(), "not heard, {origin:?}");
    }
}
