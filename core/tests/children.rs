//! What is said of children: which ones a busy PD has, what a context is closed with.

mod worlds;

use verbsguard_core::check::{Fault, Policy};
use verbsguard_core::describe::CallInfo;
use verbsguard_core::finding::{Action, Finding};
use verbsguard_core::ledger::Kind;
use verbsguard_core::options::Options;
use verbsguard_core::rules::Rule;
use verbsguard_core::site::Site;
use verbsguard_core::track::{
    ChildKind, Closed, ContextOrigin, DeviceFile, End, Mark, Me, Moment, NewChild, Newborn, OpenedContext, Origin,
    Subject, Tracker,
};
use worlds::NOBODY;

const CONTEXT: usize = 0x1000;
const PD: usize = 0x2000;
const IMPORTED: usize = 0x3000;
const EBUSY: i32 = 16;

struct Process(Tracker);

impl Process {
    /// A context, a PD in it and an import of that.
    fn new() -> Process {
        let tracker = Tracker::new(Policy(Options::default()), Me::default());
        let file = tracker.find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, None));
        let opened =
            OpenedContext { address: CONTEXT, device: "mlx5_0".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
        tracker.opened(opened, file, Mark::default());
        let process = Process(tracker);
        process.born(PD, Origin::Owned);
        process.born(IMPORTED, Origin::Imported);
        process
    }

    fn born(&self, address: usize, origin: Origin) {
        let token = self.0.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        let newborn = Newborn { address, kind: Kind::Pd, handle: 1, second_id: Some(5), size: 0, origin };
        self.0.finish_birth(token, newborn, Mark::default(), &NOBODY);
    }

    fn make(&self, pd: usize, address: usize, kind: ChildKind) {
        let token = self.0.begin_use(pd, Kind::Pd, true, &NOBODY).outcome.unwrap().unwrap();
        let new = NewChild { address, kind, handle: Some(9), number: Some(0x2a) };
        self.0.finish_child(token, new, Mark { site: Site(7), time: 0 });
    }

    fn make_in_context(&self, address: usize, kind: ChildKind) {
        let token = self.0.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        self.0.finish_child(token.into(), NewChild { address, kind, handle: None, number: None }, Mark::default());
    }

    fn end(&self, address: usize) {
        let token = self.0.begin_child_end(address).outcome.unwrap().unwrap();
        self.0.finish_child_end(token);
    }

    /// What a dealloc that fails with EBUSY says.
    fn busy(&self) -> Finding {
        let token = self.0.begin_release(PD, Kind::Pd, End::Destroy, &Mark::default(), &NOBODY).outcome.unwrap();
        let told = self.0.finish_release(token.unwrap(), EBUSY, Mark::default(), &NOBODY);
        assert_eq!(told.len(), 1);
        self.tell(&told[0])
    }

    fn tell(&self, (fault, subject): &(Fault, Subject)) -> Finding {
        self.0.describe(call(), fault, subject, Action::Forwarded)
    }

    fn close(&self) -> Closed {
        let token = self.0.begin_close(CONTEXT, &NOBODY).outcome.unwrap().unwrap();
        self.0.finish_close(token, true, Mark::default(), &NOBODY)
    }
}

fn call() -> CallInfo {
    CallInfo { function: "ibv_dealloc_pd", argument: None, here: Site::NONE, now: 0 }
}

fn kinds(finding: &Finding) -> Vec<&str> {
    finding.objects.iter().map(|object| object.kind.as_ref()).collect()
}

#[test]
fn a_busy_pd_names_what_was_made_through_any_reference_to_it() {
    let process = Process::new();
    process.make(PD, 0x4000, ChildKind::Mr);
    process.make(IMPORTED, 0x5000, ChildKind::Qp);
    process.make_in_context(0x6000, ChildKind::Cq);
    let told = process.busy();
    let listed = "children known here: mr 0x4000 (handle 9, lkey 0x2a), qp 0x5000 (handle 9, qp number 0x2a)";
    assert!(told.message.ends_with(listed), "{}", told.message);
    assert_eq!(kinds(&told), ["pd", "mr", "qp"]);
    assert!(told.objects[1..].iter().all(|object| object.created == Site(7).into()), "each with its place");
}

#[test]
fn what_is_not_known_is_said() {
    let process = Process::new();
    let unknown = "what keeps it is not known";
    assert!(process.busy().message.contains(unknown));
    // No kernel object, so it is not what keeps the PD.
    process.make(PD, 0x4000, ChildKind::NullMr);
    assert!(process.busy().message.contains(unknown));
    process.make(PD, 0x5000, ChildKind::Mw);
    assert!(!process.busy().message.contains(unknown));
    process.end(0x5000);
    assert!(process.busy().message.contains(unknown));
}

#[test]
fn a_pd_whose_number_was_given_out_may_have_devx_children() {
    let process = Process::new();
    process.make(PD, 0x4000, ChildKind::Mr);
    assert!(!process.busy().message.contains("DEVX"));
    let token = process.0.begin_use(PD, Kind::Pd, true, &NOBODY).outcome.unwrap().unwrap();
    process.0.pdn_given(token);
    assert!(process.busy().message.contains("it may be a DEVX child too"));
}

#[test]
fn a_close_still_knows_what_kept_the_pd() {
    let process = Process::new();
    process.make(PD, 0x4000, ChildKind::Mw);
    process.busy();
    let closed = process.close();
    let busy = closed.lost.iter().find(|lost| lost.fault.rule == Rule::PdDeallocBusy).unwrap();
    let told = process.0.describe_lost(call(), std::slice::from_ref(busy), Moment::Close).next().unwrap();
    assert!(told.message.contains("children known here: mw 0x4000"), "{}", told.message);
    assert_eq!(kinds(&told), ["pd", "mw"]);
}

#[test]
fn what_is_left_in_a_context_is_counted_by_type() {
    let process = Process::new();
    for at in 0..10 {
        process.make_in_context(0x4000 + at, ChildKind::Cq);
    }
    process.make(IMPORTED, 0x5000, ChildKind::Qp);
    process.make(PD, 0x6000, ChildKind::Ah);
    process.end(0x6000);
    let closed = process.close();
    let told = process.tell(&closed.left[0]);
    assert!(told.message.ends_with("was closed with 1 qp, 10 cqs in it"), "{}", told.message);
    assert_eq!(kinds(&told)[0], "context");
    assert_eq!(told.count, 11);
    assert_eq!(process.0.totals().children, [0; ChildKind::ALL.len()]);
}

#[test]
fn an_empty_context_closes_without_a_word() {
    let process = Process::new();
    process.make_in_context(0x4000, ChildKind::Cq);
    process.end(0x4000);
    assert!(process.close().left.is_empty());
}
