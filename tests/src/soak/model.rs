//! The rules across processes, as a small reference model: what each step answers, and what a guard must say of it. It
//! shares no code with the guard. Everything is seen, every process is guarded, and no two steps overlap.

use std::collections::{BTreeMap, BTreeSet};

use super::kernel::{Answer, Device, Kernel, Kind, Uid, What};
use super::step::{Id, MOST, Step, Who};

pub(super) const PD: What = What::Pd;
pub(super) const UMEM: What = What::Umem(0);
pub(super) const MR: What = What::Mr(0);

pub(super) fn like(kind: Kind) -> What {
    if kind == Kind::Pd { PD } else { UMEM }
}

/// A process's membership in a device file, from its first context there to its last; no two have the same number.
pub(super) type Holder = u32;

/// What a guard must say of one step: so many objects under one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In which process.
    pub who: Who,
    /// "error", "warning", "note".
    pub severity: &'static str,
    /// The rule's id.
    pub rule: String,
    /// "forwarded" or "refused".
    pub action: &'static str,
    /// How many objects.
    pub count: usize,
    /// A process that it must name.
    pub of: Option<Who>,
}

/// What a step comes to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The errno it fails with, empty for success.
    pub answer: Answer,
    /// What the guard says.
    pub found: Vec<Found>,
}

/// A shared object, as all guards together know it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub kind: Kind,
    pub handle: u32,
    /// A UMEM's id.
    pub id: u32,
    pub exported: bool,
    pub alive: bool,
    pub maker: Holder,
    /// Who destroyed it.
    pub end: Option<Who>,
    /// Somebody told for certain that it is lost.
    pub mourned: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub known: BTreeMap<Uid, Known>,
    /// The latest of each handle.
    pub last: BTreeMap<(Kind, u32), Uid>,
}

/// A process in a device file.
#[derive(Clone, Debug)]
pub(super) struct Join {
    pub file: usize,
    pub holder: Holder,
    /// It has a context there.
    pub here: bool,
    /// What it made or referred to; with the context that owns it.
    pub touched: BTreeMap<Uid, Option<Id>>,
    pub told: BTreeSet<Uid>,
}

#[derive(Clone, Debug)]
pub(super) struct Context {
    pub join: usize,
    pub open: bool,
    pub inherited: bool,
    pub uar: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub kind: Kind,
    pub join: usize,
    pub handle: u32,
    /// None: it never referred to anything.
    pub uid: Option<Uid>,
    pub owned: bool,
    pub live: bool,
    pub inherited: bool,
    pub context: Id,
    pub children: u32,
    /// A destroy failed with this; whether that was told.
    pub failure: Option<(Answer, bool)>,
}

#[derive(Clone, Debug)]
pub(super) struct Mr {
    pub file: usize,
    pub handle: u32,
    pub context: Id,
    pub pd: Id,
}

/// A process.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub alive: bool,
    /// Forked, and without a call since: its guard has told nobody of itself.
    pub silent: bool,
    pub joins: Vec<Join>,
    pub contexts: BTreeMap<Id, Context>,
    pub references: BTreeMap<Id, Reference>,
    pub mrs: BTreeMap<Id, Mr>,
    pub fds: BTreeMap<Id, usize>,
}

impl Process {
    pub fn file_of(&self, context: &Context) -> usize {
        self.joins[context.join].file
    }

    /// Whether it has a descriptor of this device file.
    pub fn holds(&self, file: usize) -> bool {
        let contexts = self.contexts.values().filter(|context| context.open);
        self.alive
            && (self.fds.values().any(|fd| *fd == file)
                || contexts.into_iter().any(|context| self.file_of(context) == file))
    }

    /// Whether its guard is in the device file's record.
    pub fn tells(&self, file: usize) -> bool {
        self.alive && !self.silent && self.joins.iter().any(|join| join.here && join.file == file)
    }

    fn refers(&self, uid: Uid, is_of: impl Fn(&Join) -> bool) -> bool {
        let same = |one: &&Reference| one.live && one.uid == Some(uid) && is_of(&self.joins[one.join]);
        self.references.values().any(|one| same(&one))
    }
}

/// The whole world of a program.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) kernel: Kernel,
    pub(super) processes: Vec<Process>,
    pub(super) files: Vec<File>,
    pub(super) holders: Holder,
    /// Handles and blobs that were made known: who made them, and what they are.
    pub(super) known: BTreeMap<Id, (Who, u32, u32)>,
    pub(super) found: Vec<Found>,
}

/// What became of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Unknown,
    Alive,
    Dead { replaced: bool, by: Option<Who> },
}

impl Model {
    /// Processes that have done nothing yet; those that somebody forks are not there before.
    pub fn new(device: Device, forked: &[Who]) -> Model {
        let process = |who| Process { alive: !forked.contains(&who), ..Process::default() };
        Model {
            kernel: Kernel::new(device),
            processes: (0..MOST).map(process).collect(),
            files: Vec::new(),
            holders: 0,
            known: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    pub(super) fn says(&mut self, who: Who, severity: &'static str, rule: &str) -> &mut Found {
        self.say(Found { who, severity, rule: rule.to_owned(), action: "forwarded", count: 1, of: None })
    }

    pub(super) fn refuses(&mut self, who: Who, rule: &str, errno: Answer) -> Result<(), Answer> {
        self.says(who, "error", rule).action = "refused";
        Err(errno)
    }

    fn say(&mut self, found: Found) -> &mut Found {
        self.found.push(found);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// What this step comes to; None where it cannot be taken.
    pub fn take(&mut self, step: &Step) -> Option<Outcome> {
        let answer = self.perform(step)?.err().unwrap_or("");
        self.bury();
        Some(Outcome { answer, found: std::mem::take(&mut self.found) })
    }

    fn perform(&mut self, step: &Step) -> Option<Result<(), Answer>> {
        match *step {
            Step::Open { who, new } => self.open(who, new),
            Step::Lend { who, context, to, fd } => self.lend(who, context, to, fd),
            Step::CloseFd { who, fd } => self.process(who)?.fds.remove(&fd).map(|_| Ok(())),
            Step::ImportFd { who, fd, new } => self.import_fd(who, fd, new),
            Step::Close { who, context } => self.close(who, context),
            Step::Make { who, kind, context, new } => self.make(who, kind, context, new),
            Step::Import { who, kind, context, source, new } => self.import(who, kind, context, source, new),
            Step::Export { who, umem, new } => self.export(who, umem, new),
            Step::RegMr { who, pd, new } => self.reg_mr(who, pd, new),
            Step::DeregMr { who, mr } => self.dereg_mr(who, mr),
            Step::End { who, kind, end, what } => self.end(who, kind, end, what),
            Step::Fork { who, child } => self.fork(who, child),
            Step::Kill(who) | Step::Quit(who) => {
                self.process(who)?.alive = false;
                Some(Ok(()))
            }
            Step::Exit(who) => {
                self.process(who)?;
                self.exit(who);
                Some(Ok(()))
            }
            Step::Count => Some(Ok(())),
        }
    }

    pub(super) fn process(&mut self, who: Who) -> Option<&mut Process> {
        self.processes.get_mut(who).filter(|process| process.alive)
    }

    /// The process makes a call: a forked one tells of itself now.
    pub(super) fn caller(&mut self, who: Who) -> Option<&mut Process> {
        let mut holders = self.holders;
        let process = self.process(who)?;
        if std::mem::take(&mut process.silent) {
            for join in process.joins.iter_mut().filter(|join| join.here) {
                holders += 1;
                join.holder = holders;
            }
        }
        self.holders = holders;
        self.process(who)
    }

    /// A device file ends with its last descriptor.
    fn bury(&mut self) {
        for file in 0..self.files.len() {
            if !self.processes.iter().any(|process| process.holds(file)) {
                self.kernel.close(file);
            }
        }
    }

    pub(super) fn join(&self, who: Who, join: usize) -> &Join {
        &self.processes[who].joins[join]
    }

    /// Whether another process holds the device file, as far as this one can see.
    pub(super) fn is_held_elsewhere(&self, who: Who, join: usize) -> bool {
        let join = self.join(who, join);
        let mut others = self.processes.iter().enumerate().filter(|(other, _)| *other != who);
        others.any(|(_, other)| other.tells(join.file) || join.here && other.holds(join.file))
    }

    /// Whether all that hold the device file tell what they do.
    pub(super) fn sees_everyone(&self, who: Who, join: usize) -> bool {
        let join = self.join(who, join);
        let mut others = self.processes.iter().enumerate().filter(|(other, _)| *other != who);
        join.here && !others.any(|(_, other)| other.holds(join.file) && !other.tells(join.file))
    }

    /// Whether living processes besides this one refer to an object and have told so.
    pub(super) fn is_referred_elsewhere(&self, who: Who, file: usize, uid: Uid) -> bool {
        let mut others = self.processes.iter().enumerate().filter(|(other, _)| *other != who);
        others.any(|(_, other)| other.tells(file) && other.refers(uid, |join| join.here && join.file == file))
    }

    /// How many live references a process has to an object; those from before it last left the device file are forgotten.
    pub(super) fn own(&self, who: Who, join: usize, uid: Uid) -> usize {
        let references = self.processes[who].references.values();
        references.filter(|one| one.live && one.join >= join && one.uid == Some(uid)).count()
    }

    pub(super) fn fate(&self, who: Who, reference: &Reference) -> Fate {
        let Some(uid) = reference.uid else { return Fate::Unknown };
        let file = &self.files[self.join(who, reference.join).file];
        let Some(object) = file.known.get(&uid) else { return Fate::Unknown };
        if object.alive {
            return Fate::Alive;
        }
        let replaced =
            file.last.get(&(object.kind, object.handle)).is_some_and(|last| *last != uid && file.known[last].alive);
        Fate::Dead { replaced, by: object.end.filter(|by| *by != who) }
    }

    /// Live objects of a device file to which nobody refers, that this process is to tell of: where nobody told for
    /// certain before, or where it had one of them.
    pub(super) fn take_orphans(&mut self, who: Who, join: usize, besides_own: bool, certain: bool) -> usize {
        let here = self.join(who, join).clone();
        let known = self.files[here.file].known.clone();
        let is_ours = |uid: &Uid, object: &Known| {
            object.maker == here.holder || here.touched.contains_key(uid) || !self.lives(here.file, object.maker)
        };
        let orphans: Vec<Uid> = known
            .iter()
            .filter(|(uid, object)| object.alive && is_ours(uid, object))
            .map(|(uid, _)| *uid)
            .filter(|uid| !self.is_referred_elsewhere(who, here.file, *uid))
            .filter(|uid| !besides_own || self.own(who, join, *uid) == 0)
            .filter(|uid| !known[uid].mourned || self.holds_itself(who, join, *uid))
            .collect();
        let told = &mut self.processes[who].joins[join].told;
        let orphans: Vec<Uid> = orphans.into_iter().filter(|uid| told.insert(*uid)).collect();
        if certain {
            orphans.iter().for_each(|uid| self.mourn(here.file, *uid));
        }
        orphans.len()
    }

    /// Somebody tells for certain that an object is lost.
    pub(super) fn mourn(&mut self, file: usize, uid: Uid) {
        self.files[file].known.entry(uid).and_modify(|object| object.mourned = true);
    }

    /// A live reference of its own, not inherited.
    fn holds_itself(&self, who: Who, join: usize, uid: Uid) -> bool {
        let mut references = self.processes[who].references.values();
        references.any(|one| one.live && !one.inherited && one.join >= join && one.uid == Some(uid))
    }

    fn lives(&self, file: usize, holder: Holder) -> bool {
        let joins = |process: &Process| process.joins.iter().any(|join| join.here && join.holder == holder);
        self.processes.iter().any(|process| process.tells(file) && joins(process))
    }

    /// What the kernel counts: PDs, UMEMs, MRs.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.kernel.count(PD), self.kernel.count(UMEM), self.kernel.count(MR))
    }

    /// PDs and UMEMs on record in device files with a living holder.
    pub fn on_record(&self) -> (usize, usize) {
        let told = |file: &usize| self.processes.iter().any(|process| process.tells(*file));
        let files = (0..self.files.len()).filter(told);
        let living = files.flat_map(|file| self.files[file].known.values()).filter(|object| object.alive);
        living.fold((0, 0), |(pds, umems), object| match object.kind {
            Kind::Pd => (pds + 1, umems),
            Kind::Umem => (pds, umems + 1),
        })
    }
}
