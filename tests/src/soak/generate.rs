//! Random programs from a seed: mostly sensible, often not.

use fastrand::Rng;

use super::kernel::{Device, Kind};
use super::model::Model;
use super::script::Program;
use super::step::{End, Given, Id, Source, Step, Who};

/// So that handles stay below the emulated device's pdns, and a program below the player's tables.
const MOST_ALIVE: usize = 20;

struct Generator {
    rng: Rng,
    model: Model,
    device: Device,
    fresh_addresses: bool,
    ids: Id,
    processes: usize,
    steps: Vec<Step>,
}

/// The program of a seed.
pub fn program(seed: u64, device: Device) -> Program {
    let mut rng = Rng::with_seed(seed);
    let (processes, forked) = (rng.usize(2..=4), rng.usize(0..=2));
    let children: Vec<Who> = (processes..processes + forked).collect();
    let fresh_addresses = rng.usize(0..3) > 0;
    let model = Model::new(device, &children);
    let mut generator = Generator { rng, model, device, fresh_addresses, ids: 0, processes, steps: Vec::new() };
    generator.begin();
    for child in children {
        generator.some(25);
        let who = generator.rng.usize(0..child);
        generator.push(Step::Fork { who, child });
        generator.processes = child + 1;
    }
    generator.some(45);
    generator.finish();
    Program { device, fresh_addresses, steps: generator.steps }
}

impl Generator {
    fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids
    }

    fn push(&mut self, step: Step) -> bool {
        let before = self.model.clone();
        let taken = self.model.take(&step).is_some();
        if taken {
            self.steps.push(step);
        } else {
            self.model = before;
        }
        taken
    }

    /// A device file that two processes have.
    fn begin(&mut self) {
        let (new, fd) = (self.id(), self.id());
        self.push(Step::Open { who: 0, new });
        self.push(Step::Lend { who: 0, context: new, to: 1, fd });
        let new = self.id();
        self.push(Step::ImportFd { who: 1, fd, new });
    }

    fn some(&mut self, steps: usize) {
        for _ in 0..self.rng.usize(steps / 3..=steps) {
            if let Some(step) = self.any() {
                self.push(step);
            }
        }
    }

    /// Every process ends somehow, in any order.
    fn finish(&mut self) {
        self.push(Step::Count);
        let mut order: Vec<Who> = (0..self.processes).collect();
        self.rng.shuffle(&mut order);
        for who in order {
            let step = match self.rng.usize(0..6) {
                0 => Step::Kill(who),
                1 => Step::Quit(who),
                _ => Step::Exit(who),
            };
            // Looking into the ledger takes a while on an emulated processor.
            if self.push(step) && (self.device == Device::Emulated || self.chance(30)) {
                self.push(Step::Count);
            }
        }
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.rng.usize(0..items.len())])
    }

    fn chance(&mut self, in_a_hundred: u32) -> bool {
        self.rng.u32(0..100) < in_a_hundred
    }

    fn kind(&mut self) -> Kind {
        if self.rng.bool() { Kind::Pd } else { Kind::Umem }
    }

    fn context(&mut self, who: Who, also_closed: bool) -> Option<Id> {
        let contexts = self.model.processes[who].contexts.iter();
        let fit: Vec<Id> = contexts.filter(|(_, one)| one.open || also_closed).map(|(id, _)| *id).collect();
        self.one_of(&fit)
    }

    fn any(&mut self) -> Option<Step> {
        let who = self.rng.usize(0..self.processes);
        let to = self.rng.usize(0..self.processes);
        let stale = self.fresh_addresses && self.chance(8);
        let (pds, umems, mrs) = self.model.counts();
        let is_full = pds + umems + mrs >= MOST_ALIVE;
        Some(match self.rng.usize(0..100) {
            // A real kernel's programs have one device file: for more the guard looks only for so long, which an emulated
            // processor is too slow for.
            0..=1 if self.device == Device::Emulated => Step::Open { who, new: self.id() },
            2..=7 => Step::Lend { who, context: self.context(who, false)?, to, fd: self.id() },
            8..=15 => self.import_fd(who)?,
            16 => Step::CloseFd { who, fd: self.fd(who)? },
            17..=18 => Step::Close { who, context: self.context(who, stale)? },
            19..=29 if !is_full => {
                Step::Make { who, kind: self.kind(), context: self.context(who, stale)?, new: self.id() }
            }
            30..=49 => self.import(who, stale)?,
            50..=55 => Step::Export { who, umem: self.given(who, Kind::Umem, 0)?, new: self.id() },
            56..=63 if !is_full => Step::RegMr { who, pd: self.given(who, Kind::Pd, 0)?, new: self.id() },
            64..=68 => Step::DeregMr { who, mr: self.mr(who)? },
            69..=93 => self.end(who)?,
            94 => Step::Kill(who),
            95 => Step::Exit(who),
            96 => Step::Quit(who),
            97..=99 => Step::Count,
            _ => return None,
        })
    }

    fn fd(&mut self, who: Who) -> Option<Id> {
        let fds: Vec<Id> = self.model.processes[who].fds.keys().copied().collect();
        self.one_of(&fds)
    }

    fn import_fd(&mut self, who: Who) -> Option<Step> {
        Some(Step::ImportFd { who, fd: self.fd(who)?, new: self.id() })
    }

    fn mr(&mut self, who: Who) -> Option<Id> {
        let mrs: Vec<Id> = self.model.processes[who].mrs.keys().copied().collect();
        self.one_of(&mrs)
    }

    fn import(&mut self, who: Who, stale: bool) -> Option<Step> {
        let (kind, context) = (self.kind(), self.context(who, stale)?);
        let source = match self.rng.usize(0..40) {
            0 if kind == Kind::Umem => Source::Null,
            1 if kind == Kind::Umem => Source::Forbidden,
            // Numbers beyond are pdns, which are the device's own business.
            2..=4 => Source::Number(self.rng.u32(0..16)),
            5 if kind == Kind::Umem => Source::Number(self.rng.u32(..)),
            _ => {
                let made = |id: &Id| self.is_made_by_import_or_export(*id, kind);
                let known: Vec<Id> = self.model.known.keys().copied().filter(made).collect();
                Source::Known(self.one_of(&known)?)
            }
        };
        Some(Step::Import { who, kind, context, source, new: self.id() })
    }

    /// A PD is known by its handle, a UMEM by its blob.
    fn is_made_by_import_or_export(&self, id: Id, kind: Kind) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Make { new, kind: Kind::Pd, .. } | Step::Import { new, kind: Kind::Pd, .. } => {
                *new == id && kind == Kind::Pd
            }
            Step::Export { new, .. } => *new == id && kind == Kind::Umem,
            _ => false,
        })
    }

    /// Something to hand to a call that takes a reference to a `kind`.
    fn given(&mut self, who: Who, kind: Kind, wrong: u32) -> Option<Given> {
        if self.chance(1) {
            return Some(Given::Null);
        }
        let stale = self.fresh_addresses && self.chance(12);
        let is_wrong = self.chance(wrong);
        if is_wrong && self.rng.bool() {
            return if self.rng.bool() {
                self.mr(who).map(Given::Mr)
            } else {
                self.context(who, false).map(Given::Context)
            };
        }
        let references = self.model.processes[who].references.iter();
        let fit: Vec<Id> = references
            .filter(|(_, one)| one.live != stale && (one.kind == kind) != is_wrong)
            .map(|(id, _)| *id)
            .collect();
        self.one_of(&fit).map(Given::Reference)
    }

    fn end(&mut self, who: Who) -> Option<Step> {
        let kind = self.kind();
        let what = self.given(who, kind, 4)?;
        let is_owned = match what {
            Given::Reference(id) => self.model.processes[who].references[&id].owned,
            _ => self.rng.bool(),
        };
        // The right end, more often than not.
        let end = if is_owned != self.chance(30) { End::Destroy } else { End::Unimport };
        Some(Step::End { who, kind, end, what })
    }
}
