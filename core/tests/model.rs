//! Random programs of one process on a simulated kernel, judged by the tracker and by a small model of rules.md that
//! shares no code with it: both must name the same rules, and refuse the same calls.

use std::collections::BTreeMap;

use proptest::prelude::*;
use verbsguard_core::check::Policy;
use verbsguard_core::ledger::{Handle, Kind};
use verbsguard_core::options::Options;
use verbsguard_core::rules::Severity;
use verbsguard_core::track::{
    Alone, ChildKind, ContextOrigin, DeviceFile, Elsewhere, End, Mark, Me, Newborn, OpenedContext, Origin, Reference,
    Subject, Tracker, World,
};

const CONTEXT: usize = 0x1000;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;
const EBUSY: i32 = 16;

/// What a program does next. Numbers pick among what it has, or has had.
#[derive(Clone, Debug)]
enum Step {
    Alloc,
    Register,
    ImportPd(usize),
    Export(usize),
    ImportBlob(usize),
    End(usize, Kind, End),
    RegMr(usize),
    DeregMr(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Pd), Just(Kind::Umem)];
    let end = prop_oneof![Just(End::Unimport), Just(End::Destroy)];
    prop_oneof![
        3 => Just(Step::Alloc),
        2 => Just(Step::Register),
        3 => (0usize..64).prop_map(Step::ImportPd),
        2 => (0usize..64).prop_map(Step::Export),
        3 => (0usize..64).prop_map(Step::ImportBlob),
        8 => (0usize..64, kind, end).prop_map(|(at, kind, end)| Step::End(at, kind, end)),
        3 => (0usize..64).prop_map(Step::RegMr),
        2 => (0usize..64).prop_map(Step::DeregMr),
    ]
}

/// A kernel object, by a number that is never used twice.
#[derive(Clone, Debug)]
struct Object {
    kind: Option<Kind>,
    id: u32,
    exported: bool,
    mrs: u32,
    pd: u32,
}

/// The simulated kernel: handles are the lowest free number.
#[derive(Default)]
struct Kernel {
    objects: BTreeMap<u32, Object>,
    ids: u32,
}

impl Kernel {
    fn create(&mut self, kind: Option<Kind>, pd: u32) -> (u32, u32) {
        let handle = (0..).find(|handle| !self.objects.contains_key(handle)).unwrap();
        self.ids += 1;
        self.objects.insert(handle, Object { kind, id: self.ids, exported: false, mrs: 0, pd });
        (handle, self.ids)
    }

    fn destroy(&mut self, kind: Option<Kind>, handle: u32) -> i32 {
        match self.objects.get(&handle) {
            None => ENOENT,
            Some(object) if object.kind != kind => EINVAL,
            Some(object) if object.mrs > 0 => EBUSY,
            Some(_) => {
                let object = self.objects.remove(&handle).unwrap();
                if kind.is_none() {
                    self.objects.get_mut(&object.pd).unwrap().mrs -= 1;
                }
                0
            }
        }
    }

    fn is(&self, kind: Kind, handle: u32, id: u32) -> bool {
        self.objects.get(&handle).is_some_and(|object| object.kind == Some(kind) && object.id == id)
    }
}

/// A struct of the program, as the model knows it.
#[derive(Clone, Debug)]
struct Struct {
    kind: Kind,
    handle: u32,
    id: Option<u32>,
    owned: bool,
    live: bool,
    children: u32,
}

/// A memory region: its address, its handle, and address and birth of the PD struct it was made with.
type Mr = (usize, u32, Option<(usize, u32)>);

/// The model of rules.md.
#[derive(Default)]
struct Model {
    kernel: Kernel,
    structs: BTreeMap<usize, Struct>,
    mrs: Vec<Mr>,
    free: Vec<usize>,
    next: usize,
    births: u32,
    born: BTreeMap<usize, u32>,
    blobs: Vec<(u32, u32)>,
    handles: Vec<u32>,
}

type Found = Vec<(String, Severity)>;

fn found(rule: &str, severity: Severity) -> (String, Severity) {
    (rule.to_owned(), severity)
}

impl Model {
    /// The allocator gives back at once what was freed last, as malloc does.
    fn address(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            0x10_0000 + self.next * 64
        })
    }

    fn add(&mut self, kind: Kind, handle: u32, id: Option<u32>, owned: bool) -> usize {
        let address = self.address();
        self.births += 1;
        self.born.insert(address, self.births);
        self.structs.insert(address, Struct { kind, handle, id, owned, live: true, children: 0 });
        address
    }

    fn alive(&self, of: &Struct) -> bool {
        of.id.is_some_and(|id| self.kernel.is(of.kind, of.handle, id))
    }

    fn others(&self, address: usize, of: &Struct) -> bool {
        self.structs.iter().any(|(at, other)| {
            *at != address && other.live && other.kind == of.kind && other.handle == of.handle && other.id == of.id
        })
    }

    fn name(kind: Kind, what: &str) -> String {
        format!("{}-{what}", if kind == Kind::Pd { "pd" } else { "umem" })
    }

    /// What rules.md says of ending the struct at `address`, and whether guard refuses.
    fn judge_end(&self, address: usize, kind: Kind, end: End) -> (Found, bool) {
        let it = &self.structs[&address];
        if it.live && it.kind != kind {
            return (vec![found("wrong-kind", Severity::Error)], true);
        }
        if !it.live {
            return (vec![found(&Self::name(it.kind, "released-twice"), Severity::Error)], true);
        }
        let mut judged = Vec::new();
        let alive = self.alive(it);
        if end == End::Unimport {
            if it.owned && alive {
                let severity = if self.others(address, it) { Severity::Note } else { Severity::Warning };
                judged.push(found("unimport-of-owned", severity));
            }
            if it.children > 0 {
                judged.push(found("pd-unimport-busy", Severity::Warning));
            }
            return (judged, false);
        }
        if it.id.is_none() || alive {
            return (judged, false);
        }
        let replaced = self.kernel.objects.get(&it.handle).is_some_and(|now| now.kind == Some(kind));
        let severity = if replaced { Severity::Error } else { Severity::Warning };
        judged.push(found(&Self::name(kind, "destroyed-elsewhere"), severity));
        (judged, replaced)
    }

    fn judge_use(&self, address: usize, kind: Kind) -> (Found, bool) {
        let it = &self.structs[&address];
        if it.kind != kind {
            return if it.live { (vec![found("wrong-kind", Severity::Error)], true) } else { (Vec::new(), true) };
        }
        if !it.live {
            return (vec![found(&Self::name(kind, "used-after-release"), Severity::Error)], true);
        }
        if it.id.is_some() && !self.alive(it) {
            return (vec![found(&Self::name(kind, "used-after-destroy"), Severity::Error)], false);
        }
        (Vec::new(), false)
    }

    fn judge_blob(&self, handle: u32, id: u32) -> Option<(String, Severity)> {
        let now = self.kernel.objects.get(&handle).filter(|now| now.kind == Some(Kind::Umem));
        if now.is_some_and(|now| now.id == id && now.exported) {
            return None;
        }
        let known = self.handles.contains(&handle);
        let rule = if known { "umem-blob-stale" } else { "umem-blob-forged" };
        Some(found(rule, Severity::Error))
    }
}

/// This process is alone with its device file, and nothing happens behind the tracker's back.
struct Nobody;

impl World for Nobody {
    fn sighted_elsewhere(&self, _: &DeviceFile, _: (Kind, Handle, Option<u32>)) -> Elsewhere {
        Elsewhere::Nowhere
    }

    fn is_reborn(&self, _: &Reference, _: usize, _: &dyn Fn(usize) -> bool) -> bool {
        false
    }
    fn is_intact(&self, _: &Reference, _: usize) -> bool {
        false
    }
    fn is_held_elsewhere(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
    fn is_held_by_silent(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
    fn is_held_by_strangers(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
}

struct Run {
    tracker: Tracker,
    model: Model,
}

fn mark() -> Mark {
    Mark::default()
}

fn told(faults: &[(verbsguard_core::check::Fault, Subject)]) -> Found {
    faults.iter().map(|(fault, _)| (fault.rule.id().to_owned(), fault.severity)).collect()
}

impl Run {
    fn new() -> Run {
        let tracker = Tracker::new(Policy(Options::default()), Me::default());
        let file = tracker
            .find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, Box::<Alone>::default()));
        let opened =
            OpenedContext { address: CONTEXT, device: "mlx5_0".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
        tracker.opened(opened, &file, mark());
        Run { tracker, model: Model::default() }
    }

    fn born(&mut self, kind: Kind, handle: u32, id: u32, origin: Origin, of: Option<u32>) -> Found {
        let address = self.model.add(kind, handle, of, origin == Origin::Owned);
        let token = self.tracker.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        let newborn = Newborn { address, kind, handle, second_id: Some(id), size: 8, origin };
        told(&self.tracker.finish_birth(token, newborn, mark(), &Nobody))
    }

    fn pick(&self, at: usize) -> Option<usize> {
        let addresses: Vec<_> = self.model.structs.keys().copied().collect();
        (!addresses.is_empty()).then(|| addresses[at % addresses.len()])
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Alloc => self.create(Kind::Pd),
            Step::Register => self.create(Kind::Umem),
            Step::ImportPd(at) => self.import_pd(at),
            Step::Export(at) => self.export(at),
            Step::ImportBlob(at) => self.import_blob(at),
            Step::End(at, kind, end) => self.end(at, kind, end),
            Step::RegMr(at) => self.reg_mr(at),
            Step::DeregMr(at) => self.dereg_mr(at),
        }
    }

    fn create(&mut self, kind: Kind) {
        let (handle, id) = self.model.kernel.create(Some(kind), 0);
        if kind == Kind::Umem {
            self.model.handles.push(handle);
        }
        assert_eq!(self.born(kind, handle, id, Origin::Owned, Some(id)), []);
    }

    fn import_pd(&mut self, at: usize) {
        let handle = u32::try_from(at % 12).unwrap();
        let Some(object) = self.model.kernel.objects.get(&handle).filter(|now| now.kind == Some(Kind::Pd)).cloned()
        else {
            return;
        };
        let judged = self.born(Kind::Pd, handle, object.id, Origin::Imported, Some(object.id));
        let serious: Vec<_> = judged.into_iter().filter(|(_, severity)| *severity != Severity::Note).collect();
        assert_eq!(serious, [], "a live handle of this device file is never wrong");
    }

    fn export(&mut self, at: usize) {
        let Some(address) = self.pick(at) else { return };
        let (expected, refused) = self.model.judge_use(address, Kind::Umem);
        let verdict = self.tracker.begin_use(address, Kind::Umem, false, &Nobody);
        assert_eq!(told(&verdict.faults), expected);
        let it = self.model.structs[&address].clone();
        if refused {
            return;
        }
        if let Ok(Some(token)) = verdict.outcome {
            self.tracker.exported(token, mark());
        }
        if self.model.alive(&it) {
            self.model.kernel.objects.get_mut(&it.handle).unwrap().exported = true;
            self.model.blobs.push((it.handle, it.id.unwrap()));
        }
    }

    fn import_blob(&mut self, at: usize) {
        let forged = (u32::try_from(at % 12).unwrap(), 1_000_000);
        let blobs = &self.model.blobs;
        let (handle, id) = if at.is_multiple_of(4) || blobs.is_empty() { forged } else { blobs[at % blobs.len()] };
        let expected = self.model.judge_blob(handle, id);
        let of = expected.is_none().then_some(id);
        let judged = self.born(Kind::Umem, handle, id, Origin::Imported, of);
        let serious: Vec<_> = judged.into_iter().filter(|(_, severity)| *severity != Severity::Note).collect();
        assert_eq!(serious, expected.into_iter().collect::<Vec<_>>());
    }

    fn end(&mut self, at: usize, kind: Kind, end: End) {
        let Some(address) = self.pick(at) else { return };
        let (expected, refused) = self.model.judge_end(address, kind, end);
        let verdict = self.tracker.begin_release(address, kind, end, mark(), &Nobody);
        assert_eq!(told(&verdict.faults), expected, "{end:?} {:?}", self.model.structs[&address]);
        assert_eq!(verdict.outcome.is_err(), refused);
        let Ok(token) = verdict.outcome else { return };
        let it = self.model.structs[&address].clone();
        let answer = if end == End::Destroy { self.model.kernel.destroy(Some(it.kind), it.handle) } else { 0 };
        if let Some(token) = token {
            let after = self.tracker.finish_release(token, answer, mark(), &Nobody);
            assert!(after.iter().all(|(fault, _)| fault.severity == Severity::Note), "{after:?}");
        }
        if answer == 0 {
            self.model.structs.get_mut(&address).unwrap().live = false;
            self.model.free.push(address);
        }
    }

    fn reg_mr(&mut self, at: usize) {
        let Some(address) = self.pick(at) else { return };
        let (expected, refused) = self.model.judge_use(address, Kind::Pd);
        let verdict = self.tracker.begin_use(address, Kind::Pd, true, &Nobody);
        assert_eq!(told(&verdict.faults), expected);
        let handle = self.model.structs[&address].handle;
        let is_pd = self.model.kernel.objects.get(&handle).is_some_and(|now| now.kind == Some(Kind::Pd));
        if refused || !is_pd {
            return;
        }
        self.model.kernel.objects.get_mut(&handle).unwrap().mrs += 1;
        let (mr, _) = self.model.kernel.create(None, handle);
        let at = 0x90_0000 + self.model.births as usize * 64 + self.model.mrs.len() * 0x1_0000;
        self.model.births += 1;
        let parent = verdict.outcome.ok().flatten().map(|token| {
            self.tracker.finish_child(token, at, ChildKind::Mr, Some(mr), mark());
            self.model.structs.get_mut(&address).unwrap().children += 1;
            (address, self.model.born[&address])
        });
        self.model.mrs.push((at, mr, parent));
    }

    fn dereg_mr(&mut self, at: usize) {
        if self.model.mrs.is_empty() {
            return;
        }
        let index = at % self.model.mrs.len();
        let (address, handle, parent) = self.model.mrs.swap_remove(index);
        assert_eq!(self.model.kernel.destroy(None, handle), 0);
        if let Ok(Some(token)) = self.tracker.begin_child_end(address).outcome {
            self.tracker.finish_child_end(token);
        }
        if let Some((pd, birth)) = parent
            && self.model.born[&pd] == birth
        {
            self.model.structs.get_mut(&pd).unwrap().children -= 1;
        }
    }

    fn check_totals(&self) {
        let live = |kind| self.model.structs.values().filter(|it| it.live && it.kind == kind).count() as u64;
        let totals = self.tracker.totals();
        assert_eq!((totals.pds, totals.umems), (live(Kind::Pd), live(Kind::Umem)));
        assert_eq!(totals.mrs, self.model.mrs.len() as u64);
    }

    /// Kernel objects that were made here and that no live struct stands for.
    fn check_orphans(&self) {
        let held = |handle: u32, object: &Object| {
            self.model
                .structs
                .values()
                .any(|it| it.live && Some(it.kind) == object.kind && it.handle == handle && it.id == Some(object.id))
        };
        let objects = self.model.kernel.objects.iter();
        let orphans = objects.filter(|(handle, object)| object.kind.is_some() && !held(**handle, object)).count();
        assert_eq!(self.tracker.lost_count(), orphans as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn tracker_and_model_agree(steps in proptest::collection::vec(step(), 1..80)) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
        }
        run.check_totals();
        run.check_orphans();
    }
}
