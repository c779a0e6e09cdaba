//! Random programs of one process on a simulated kernel, judged by the tracker and by a small model of rules.md that
//! shares no code with it: both must name the same rules, and refuse the same calls.

mod worlds;

use std::collections::BTreeMap;

use proptest::prelude::*;
use verbsguard_core::check::Policy;
use verbsguard_core::ledger::Kind;
use verbsguard_core::options::Options;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{
    ChildKind, ContextOrigin, DeviceFile, End, Mark, Me, NewChild, Newborn, OpenedContext, Origin, Subject, Tracker,
    Verdict,
};
use worlds::{Alone, NOBODY};

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
    /// A child on a PD, or through a parent domain.
    Make(usize, ChildKind),
    Domain(usize),
    Destroy(usize),
}

/// Children that the kernel knows, some of which read their PD later and some of which do not.
const MADE: &[ChildKind] =
    &[ChildKind::Mr, ChildKind::Mw, ChildKind::Qp, ChildKind::Srq, ChildKind::Ah, ChildKind::Wq, ChildKind::Buf];

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
        3 => (0usize..64, prop::sample::select(MADE)).prop_map(|(at, kind)| Step::Make(at, kind)),
        1 => (0usize..64).prop_map(Step::Domain),
        3 => (0usize..64).prop_map(Step::Destroy),
    ]
}

/// A kernel object, by a number that is never used twice.
#[derive(Clone, Debug)]
struct Object {
    kind: Option<Kind>,
    id: u32,
    exported: bool,
    children: u32,
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
        self.objects.insert(handle, Object { kind, id: self.ids, exported: false, children: 0, pd });
        (handle, self.ids)
    }

    fn destroy(&mut self, kind: Option<Kind>, handle: u32) -> i32 {
        match self.objects.get(&handle) {
            None => ENOENT,
            Some(object) if object.kind != kind => EINVAL,
            Some(object) if object.children > 0 => EBUSY,
            Some(_) => {
                let object = self.objects.remove(&handle).unwrap();
                if kind.is_none() {
                    self.objects.get_mut(&object.pd).unwrap().children -= 1;
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
    /// Its unimport was reported as busy.
    told: bool,
}

/// A child: what the program has of it.
#[derive(Clone, Debug)]
struct Child {
    address: usize,
    kind: ChildKind,
    /// The kernel's; a parent domain has none.
    handle: Option<u32>,
    /// Address and birth of the PD struct it was made with, where the tracker knows that.
    pd: Option<(usize, u32)>,
    /// The provider reads that struct while the child goes.
    reads_pd: bool,
}

/// The model of rules.md.
#[derive(Default)]
struct Model {
    kernel: Kernel,
    structs: BTreeMap<usize, Struct>,
    children: Vec<Child>,
    /// `disable=pd-unimport-busy`.
    busy_disabled: bool,
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
        self.structs.insert(address, Struct { kind, handle, id, owned, live: true, told: false });
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
            judged.extend(self.judge_busy(address));
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

    fn children_of(&self, address: usize) -> impl Iterator<Item = &Child> {
        let pd = (address, self.born[&address]);
        self.children.iter().filter(move |child| child.pd == Some(pd))
    }

    fn has_domains(&self, address: usize) -> bool {
        self.children_of(address).any(|child| child.kind == ChildKind::ParentDomain)
    }

    /// While a parent domain stands on the PD the provider ignores the call: judged after it.
    fn judge_busy(&self, address: usize) -> Option<(String, Severity)> {
        if self.busy_disabled || self.has_domains(address) {
            return None;
        }
        let severities = self.children_of(address).map(|child| match child.reads_pd {
            true => Severity::Error,
            false => Severity::Warning,
        });
        severities.max().map(|severity| found("pd-unimport-busy", severity))
    }

    /// What rules.md says of destroying a child.
    fn judge_destroy(&self, child: &Child) -> Found {
        let released = child
            .pd
            .is_some_and(|(pd, birth)| self.born[&pd] == birth && !self.structs[&pd].live && !self.structs[&pd].told);
        let wrong = child.reads_pd && released;
        wrong.then(|| found("pd-of-child-released", Severity::Error)).into_iter().collect()
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

/// A PD under a parent domain is intact.
const ALONE: Alone = Alone { is_intact: true, ..NOBODY };

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

fn told_seriously(faults: &[(verbsguard_core::check::Fault, Subject)]) -> Found {
    told(faults).into_iter().filter(|(_, severity)| *severity != Severity::Note).collect()
}

impl Run {
    fn new(busy_disabled: bool) -> Run {
        let disable = if busy_disabled { vec![Rule::PdUnimportBusy] } else { Vec::new() };
        let tracker = Tracker::new(Policy(Options { disable, ..Options::default() }), Me::default());
        let file = tracker.find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, None));
        let opened =
            OpenedContext { address: CONTEXT, device: "mlx5_0".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
        tracker.opened(opened, file, mark());
        Run { tracker, model: Model { busy_disabled, ..Model::default() } }
    }

    fn born(&mut self, kind: Kind, handle: u32, id: u32, origin: Origin, of: Option<u32>) -> Found {
        let address = self.model.add(kind, handle, of, origin == Origin::Owned);
        let token = self.tracker.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        let newborn = Newborn { address, kind, handle, second_id: Some(id), size: 8, origin };
        told(&self.tracker.finish_birth(token, newborn, mark(), &ALONE))
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
            Step::Make(at, kind) => self.make(at, kind),
            Step::Domain(at) => self.make_domain(at),
            Step::Destroy(at) => self.destroy(at),
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
        let verdict = self.tracker.begin_use(address, Kind::Umem, false, &ALONE);
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
        // What can be ended at once must be no different from what is not.
        let verdict = match at.is_multiple_of(2) && self.tracker.end_at_once(address, kind, end, &mark()) {
            true => Verdict { faults: Vec::new(), outcome: Ok(None) },
            false => self.tracker.begin_release(address, kind, end, &mark(), &ALONE),
        };
        assert_eq!(told(&verdict.faults), expected, "{end:?} {:?}", self.model.structs[&address]);
        assert_eq!(verdict.outcome.is_err(), refused);
        let Ok(token) = verdict.outcome else { return };
        let it = self.model.structs[&address].clone();
        let domains = self.model.has_domains(address);
        let answer = match end {
            End::Destroy if domains => EBUSY,
            End::Destroy => self.model.kernel.destroy(Some(it.kind), it.handle),
            End::Unimport => 0,
        };
        let told = expected.iter().any(|(rule, _)| rule == "pd-unimport-busy");
        self.model.structs.get_mut(&address).unwrap().told |= told;
        let ignored = end == End::Unimport && domains;
        if let Some(token) = token {
            let after = told_seriously(&self.tracker.finish_release(token, answer, mark(), &ALONE));
            let silently = found("unimport-failed-silently", Severity::Warning);
            assert_eq!(after, if ignored { vec![silently] } else { Vec::new() });
        }
        if answer == 0 && !ignored {
            self.model.structs.get_mut(&address).unwrap().live = false;
            self.model.free.push(address);
        }
    }

    /// A PD of the program, and the parent domain on it that is named in its place, if any.
    fn pick_pd(&self, at: usize) -> Option<(usize, Option<usize>)> {
        let domains = self.model.children.iter().filter(|child| child.kind == ChildKind::ParentDomain);
        let domains: Vec<_> = domains.filter_map(|child| Some((child.pd?.0, Some(child.address)))).collect();
        match at % 3 {
            0 if !domains.is_empty() => Some(domains[at % domains.len()]),
            _ => self.pick(at).map(|pd| (pd, None)),
        }
    }

    fn make(&mut self, at: usize, kind: ChildKind) {
        let Some((pd, domain)) = self.pick_pd(at) else { return };
        let (expected, refused) = self.model.judge_use(pd, Kind::Pd);
        let verdict = self.tracker.begin_use(domain.unwrap_or(pd), Kind::Pd, true, &ALONE);
        assert_eq!(told(&verdict.faults), expected);
        let handle = self.model.structs[&pd].handle;
        let is_pd = self.model.kernel.objects.get(&handle).is_some_and(|now| now.kind == Some(Kind::Pd));
        if refused || !is_pd {
            return;
        }
        self.model.kernel.objects.get_mut(&handle).unwrap().children += 1;
        let (handle, _) = self.model.kernel.create(None, handle);
        let held = !matches!(kind, ChildKind::Ah | ChildKind::Buf);
        let reads_pd = domain.is_some() && held || matches!(kind, ChildKind::Qp | ChildKind::Buf);
        self.add_child(kind, Some(handle), pd, reads_pd, verdict.outcome.ok().flatten());
    }

    fn make_domain(&mut self, at: usize) {
        let Some(pd) = self.pick(at) else { return };
        let (expected, refused) = self.model.judge_use(pd, Kind::Pd);
        let verdict = self.tracker.begin_use(pd, Kind::Pd, true, &ALONE);
        assert_eq!(told(&verdict.faults), expected);
        if let Ok(Some(token)) = verdict.outcome
            && !refused
        {
            self.add_child(ChildKind::ParentDomain, None, pd, false, Some(token));
        }
    }

    fn add_child(
        &mut self,
        kind: ChildKind,
        handle: Option<u32>,
        pd: usize,
        reads_pd: bool,
        token: Option<verbsguard_core::track::ChildToken>,
    ) {
        self.model.births += 1;
        let address = 0x9000_0000 + self.model.births as usize * 64;
        let pd = token.map(|token| {
            self.tracker.finish_child(token, NewChild { address, kind, handle, number: None }, mark());
            (pd, self.model.born[&pd])
        });
        self.model.children.push(Child { address, kind, handle, pd, reads_pd });
    }

    fn destroy(&mut self, at: usize) {
        if self.model.children.is_empty() {
            return;
        }
        let child = self.model.children.swap_remove(at % self.model.children.len());
        if child.kind == ChildKind::ParentDomain {
            let token = self.tracker.begin_parent_domain_end(child.address).unwrap();
            return self.tracker.finish_child_end(token);
        }
        let verdict = self.tracker.begin_child_end(child.address);
        assert_eq!(told(&verdict.faults), self.model.judge_destroy(&child));
        assert_eq!(self.model.kernel.destroy(None, child.handle.unwrap()), 0);
        if let Ok(Some(token)) = verdict.outcome {
            self.tracker.finish_child_end(token);
        }
    }

    fn check_totals(&self) {
        let live = |kind| self.model.structs.values().filter(|it| it.live && it.kind == kind).count() as u64;
        let totals = self.tracker.totals();
        assert_eq!((totals.pds, totals.umems), (live(Kind::Pd), live(Kind::Umem)));
        for kind in ChildKind::ALL {
            let live = self.model.children.iter().filter(|child| child.kind == *kind).count() as u64;
            assert_eq!(totals.of(*kind), live, "{kind:?}");
        }
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
    fn tracker_and_model_agree(steps in proptest::collection::vec(step(), 1..80), busy_disabled: bool) {
        let mut run = Run::new(busy_disabled);
        for step in &steps {
            run.step(step);
        }
        run.check_totals();
        run.check_orphans();
    }
}
