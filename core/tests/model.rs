//! Random programs of one process on a simulated kernel, judged by the tracker and by the reference model, which shares
//! no code with it: both must name the same rules, and refuse the same calls.

use std::collections::BTreeMap;

use proptest::prelude::*;
use verbsguard_core::check::{Fault, Policy};
use verbsguard_core::ledger::{self, Handle};
use verbsguard_core::options::Options;
use verbsguard_core::track::{
    self, Alone, ChildKind, ContextOrigin, DeviceFile, Elsewhere, Mark, Me, Newborn, OpenedContext, Origin, Reference,
    Subject, Tracker, World,
};
use verbsguard_reference::{Device, End, Given, Id, Kind, Model, Outcome, Source, Step};

const CONTEXT: usize = 0x1000;

/// The one process, and its context.
const ME: usize = 0;
const OPENED: Id = 0;

/// What a program does next. Numbers pick among what it has, or has had.
#[derive(Clone, Debug)]
enum Pick {
    Make(Kind),
    ImportPd(u32),
    Export(usize),
    ImportBlob(usize),
    End(usize, Kind, End),
    RegMr(usize),
    DeregMr(usize),
}

fn pick() -> impl Strategy<Value = Pick> {
    let kind = prop_oneof![Just(Kind::Pd), Just(Kind::Umem)];
    let end = prop_oneof![Just(End::Unimport), Just(End::Destroy)];
    prop_oneof![
        3 => Just(Pick::Make(Kind::Pd)),
        2 => Just(Pick::Make(Kind::Umem)),
        3 => (0u32..12).prop_map(Pick::ImportPd),
        2 => (0usize..64).prop_map(Pick::Export),
        3 => (0usize..64).prop_map(Pick::ImportBlob),
        8 => (0usize..64, kind, end).prop_map(|(at, kind, end)| Pick::End(at, kind, end)),
        3 => (0usize..64).prop_map(Pick::RegMr),
        2 => (0usize..64).prop_map(Pick::DeregMr),
    ]
}

/// This process is alone with its device file, and nothing happens behind the tracker's back.
struct Nobody;

impl World for Nobody {
    fn sighted_elsewhere(&self, _: &DeviceFile, _: (ledger::Kind, Handle, Option<u32>)) -> Elsewhere {
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

/// Rule, severity, and whether the call was refused for it.
type Found = Vec<(String, String)>;

struct Run {
    tracker: Tracker,
    model: Model,
    ids: Id,
    /// Where each struct stands. The latest at an address is the one that a call with it names.
    addresses: BTreeMap<Id, usize>,
    /// Addresses of freed structs: the allocator gives back at once what was freed last, as malloc does.
    free: Vec<usize>,
    used: usize,
    blobs: Vec<Id>,
}

fn mark() -> Mark {
    Mark::default()
}

fn told(faults: &[(Fault, Subject)]) -> Found {
    faults.iter().map(|(fault, _)| (fault.rule.id().to_owned(), fault.severity.to_string())).collect()
}

fn expected(outcome: &Outcome) -> Found {
    outcome.found.iter().map(|found| (found.rule.clone(), found.severity.to_owned())).collect()
}

fn is_refused(outcome: &Outcome) -> bool {
    outcome.found.iter().any(|found| found.action == "refused")
}

fn errno(answer: &str) -> i32 {
    match answer {
        "" => 0,
        "ENOENT" => 2,
        "EBUSY" => 16,
        _ => 22,
    }
}

fn theirs(kind: Kind) -> ledger::Kind {
    match kind {
        Kind::Pd => ledger::Kind::Pd,
        Kind::Umem => ledger::Kind::Umem,
    }
}

impl Run {
    fn new() -> Run {
        let tracker = Tracker::new(Policy(Options::default()), Me::default());
        let file = tracker
            .find_or_add_file(|_| false, |index| DeviceFile::new(index, "1".into(), None, Box::<Alone>::default()));
        let opened =
            OpenedContext { address: CONTEXT, device: "mlx5_0".into(), cmd_fd: 3, origin: ContextOrigin::Opened };
        tracker.opened(opened, &file, mark());
        let mut model = Model::new(Device::Emulated, &[]);
        model.take(&Step::Open { who: ME, new: OPENED });
        Run { tracker, model, ids: OPENED, addresses: BTreeMap::new(), free: Vec::new(), used: 0, blobs: Vec::new() }
    }

    fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids
    }

    fn take(&mut self, step: &Step) -> Outcome {
        self.model.take(step).expect("only steps that can be taken are picked")
    }

    fn place(&mut self, id: Id) -> usize {
        let address = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            0x10_0000 + self.used * 64
        });
        // What stood there before cannot be named any more.
        self.addresses.retain(|_, at| *at != address);
        self.addresses.insert(id, address);
        address
    }

    /// A struct that stands somewhere, live or freed.
    fn pick(&self, at: usize) -> Option<(Id, usize)> {
        let structs = self.addresses.iter().filter(|(id, _)| self.model.processes[ME].references.contains_key(id));
        let structs: Vec<_> = structs.map(|(id, address)| (*id, *address)).collect();
        (!structs.is_empty()).then(|| structs[at % structs.len()])
    }

    fn step(&mut self, pick: &Pick) {
        match *pick {
            Pick::Make(kind) => self.make(kind),
            Pick::ImportPd(handle) => self.import(Kind::Pd, Source::Number(handle)),
            Pick::Export(at) => self.export(at),
            Pick::ImportBlob(at) if at.is_multiple_of(4) || self.blobs.is_empty() => {
                self.import(Kind::Umem, Source::Number(u32::try_from(at % 12).unwrap()));
            }
            Pick::ImportBlob(at) => self.import(Kind::Umem, Source::Known(self.blobs[at % self.blobs.len()])),
            Pick::End(at, kind, end) => self.end(at, kind, end),
            Pick::RegMr(at) => self.reg_mr(at),
            Pick::DeregMr(at) => self.dereg_mr(at),
        }
    }

    fn make(&mut self, kind: Kind) {
        let new = self.id();
        let outcome = self.take(&Step::Make { who: ME, kind, context: OPENED, new });
        assert_eq!(self.born(new, Origin::Owned, None), expected(&outcome));
    }

    /// `blob_id`: the id that an imported UMEM's blob names, whatever is behind it.
    fn born(&mut self, new: Id, origin: Origin, blob_id: Option<u32>) -> Found {
        let it = self.model.processes[ME].references[&new].clone();
        let known = it.uid.map(|uid| self.model.files[0].known[&uid].clone());
        let second_id = match it.kind {
            Kind::Pd => it.uid,
            Kind::Umem => blob_id.or(known.map(|known| known.id)),
        };
        let address = self.place(new);
        let token = self.tracker.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        let newborn = Newborn { address, kind: theirs(it.kind), handle: it.handle, second_id, size: 8, origin };
        told(&self.tracker.finish_birth(token, newborn, mark(), &Nobody))
    }

    fn import(&mut self, kind: Kind, source: Source) {
        let new = self.id();
        let outcome = self.take(&Step::Import { who: ME, kind, context: OPENED, source, new });
        let (handle, id) = match source {
            Source::Known(id) => (self.model.known[&id].1, self.model.known[&id].2),
            Source::Number(handle) => (handle, 0),
            Source::Forbidden | Source::Null => return,
        };
        if outcome.answer.is_empty() {
            let blob_id = (kind == Kind::Umem).then_some(id);
            assert_eq!(self.born(new, Origin::Imported, blob_id), expected(&outcome));
            return;
        }
        let token = self.tracker.begin_birth(CONTEXT).outcome.unwrap().unwrap();
        let judged = self.tracker.failed_import(token, handle, errno(outcome.answer), 0, &Nobody);
        // The reference model leaves pdns out.
        let judged: Vec<_> = judged.into_iter().filter(|(fault, _)| fault.rule.id() != "pd-handle-is-pdn").collect();
        assert_eq!(told(&judged), expected(&outcome));
    }

    fn export(&mut self, at: usize) {
        let Some((id, address)) = self.pick(at) else { return };
        let new = self.id();
        let verdict = self.tracker.begin_use(address, ledger::Kind::Umem, false, &Nobody);
        let step = Step::Export { who: ME, umem: Given::Reference(id), new };
        // None: a released struct of the other kind, of which nothing is said.
        let Some(outcome) = self.model.take(&step) else { return assert_eq!(told(&verdict.faults), []) };
        assert_eq!(told(&verdict.faults), expected(&outcome));
        assert_eq!(verdict.outcome.is_err(), is_refused(&outcome));
        if let Ok(Some(token)) = verdict.outcome {
            self.tracker.exported(token, mark());
        }
        if self.model.known.contains_key(&new) {
            self.blobs.push(new);
        }
    }

    fn end(&mut self, at: usize, kind: Kind, end: End) {
        let Some((id, address)) = self.pick(at) else { return };
        let it = self.model.processes[ME].references[&id].clone();
        // Of a released struct of the other kind the tracker says that it was released: the call is for its own.
        let kind = if it.live { kind } else { it.kind };
        let outcome = self.take(&Step::End { who: ME, kind, end, what: Given::Reference(id) });
        let how = if end == End::Destroy { track::End::Destroy } else { track::End::Unimport };
        let verdict = self.tracker.begin_release(address, theirs(kind), how, mark(), &Nobody);
        let mut judged = told(&verdict.faults);
        assert_eq!(verdict.outcome.is_err(), is_refused(&outcome));
        if let Ok(Some(token)) = verdict.outcome {
            judged.extend(told(&self.tracker.finish_release(token, errno(outcome.answer), mark(), &Nobody)));
        }
        assert_eq!(judged, expected(&outcome), "{end:?} {it:?}");
        if it.live && !self.model.processes[ME].references[&id].live {
            self.free.push(address);
        }
    }

    fn reg_mr(&mut self, at: usize) {
        let Some((id, address)) = self.pick(at) else { return };
        let new = self.id();
        let verdict = self.tracker.begin_use(address, ledger::Kind::Pd, true, &Nobody);
        let step = Step::RegMr { who: ME, pd: Given::Reference(id), new };
        let Some(outcome) = self.model.take(&step) else { return assert_eq!(told(&verdict.faults), []) };
        assert_eq!(told(&verdict.faults), expected(&outcome));
        assert_eq!(verdict.outcome.is_err(), is_refused(&outcome));
        let Some(mr) = self.model.processes[ME].mrs.get(&new).cloned() else { return };
        let at = 0x90_0000 + new as usize * 64;
        self.addresses.insert(new, at);
        if let Ok(Some(token)) = verdict.outcome {
            self.tracker.finish_child(token, at, ChildKind::Mr, Some(mr.handle), mark());
        }
    }

    fn dereg_mr(&mut self, at: usize) {
        let mrs: Vec<Id> = self.model.processes[ME].mrs.keys().copied().collect();
        let Some(mr) = mrs.get(at % mrs.len().max(1)).copied() else { return };
        let outcome = self.take(&Step::DeregMr { who: ME, mr });
        assert_eq!(outcome.answer, "");
        if let Ok(Some(token)) = self.tracker.begin_child_end(self.addresses[&mr]).outcome {
            self.tracker.finish_child_end(token);
        }
    }

    fn check_totals(&self) {
        let process = &self.model.processes[ME];
        let live = |kind| process.references.values().filter(|it| it.live && it.kind == kind).count() as u64;
        let totals = self.tracker.totals();
        assert_eq!((totals.pds, totals.umems), (live(Kind::Pd), live(Kind::Umem)));
        assert_eq!(totals.mrs, process.mrs.len() as u64);
    }

    /// Kernel objects that were made here and that no live struct stands for.
    fn check_orphans(&self) {
        let objects = self.model.files[0].known.iter().filter(|(_, object)| object.alive);
        let orphans = objects.filter(|(uid, _)| self.model.own(ME, 0, **uid) == 0).count();
        assert_eq!(self.tracker.lost_count(), orphans as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn tracker_and_model_agree(picks in proptest::collection::vec(pick(), 1..80)) {
        let mut run = Run::new();
        for pick in &picks {
            run.step(pick);
        }
        run.check_totals();
        run.check_orphans();
    }
}
