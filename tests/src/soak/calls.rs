//! The calls of a program, by the reference model.

use super::kernel::{Answer, Kind, Uid, What};
use super::model::{Context, Fate, Join, Known, Model, Mr, PD, Reference, like};
use super::step::{End, Given, Id, Source, Who};

type Done = Option<Result<(), Answer>>;

fn named(kind: Kind, what: &str) -> String {
    format!("{}-{what}", if kind == Kind::Pd { "pd" } else { "umem" })
}

impl Model {
    pub(super) fn open(&mut self, who: Who, new: Id) -> Done {
        self.caller(who)?;
        let file = self.kernel.open();
        self.files.push(super::model::File::default());
        self.opened(who, file, new);
        Some(Ok(()))
    }

    /// Each context makes itself a UAR.
    fn opened(&mut self, who: Who, file: usize, new: Id) {
        let (uar, _) = self.kernel.create(file, |_| What::Uar);
        self.holders += 1;
        let holder = self.holders;
        let joins = &mut self.processes[who].joins;
        let join = joins.iter().position(|join| join.here && join.file == file).unwrap_or_else(|| {
            joins.push(Join { file, holder, here: true, touched: Default::default(), told: Default::default() });
            joins.len() - 1
        });
        self.processes[who].contexts.insert(new, Context { join, open: true, inherited: false, uar });
    }

    pub(super) fn lend(&mut self, who: Who, context: Id, to: Who, fd: Id) -> Done {
        self.process(to)?;
        let process = self.process(who)?;
        let context = process.contexts.get(&context).filter(|context| context.open)?;
        let file = process.file_of(context);
        self.process(to)?.fds.insert(fd, file);
        Some(Ok(()))
    }

    pub(super) fn import_fd(&mut self, who: Who, fd: Id, new: Id) -> Done {
        let file = self.process(who)?.fds.remove(&fd)?;
        self.caller(who)?;
        self.opened(who, file, new);
        Some(Ok(()))
    }

    /// The context that a creating call names, if it is open.
    fn context(&mut self, who: Who, context: Id) -> Option<Result<(usize, usize), Answer>> {
        let process = self.caller(who)?;
        let found = process.contexts.get(&context)?.clone();
        if !found.open {
            return Some(self.refuses(who, "context-closed", "EINVAL").map(|()| (0, 0)));
        }
        Some(Ok((found.join, self.join(who, found.join).file)))
    }

    fn add(
        &mut self,
        who: Who,
        kind: Kind,
        place: (Id, usize),
        handle: u32,
        uid: Option<Uid>,
        owned: bool,
    ) -> Reference {
        let (context, join) = place;
        if let Some(uid) = uid {
            let touched = &mut self.processes[who].joins[join].touched;
            if owned {
                touched.insert(uid, Some(context));
            } else {
                touched.entry(uid).or_default();
            }
        }
        let inherited = false;
        Reference { kind, join, handle, uid, owned, live: true, inherited, context, children: 0, failure: None }
    }

    pub(super) fn make(&mut self, who: Who, kind: Kind, context: Id, new: Id) -> Done {
        let (join, file) = match self.context(who, context)? {
            Ok(found) => found,
            Err(errno) => return Some(Err(errno)),
        };
        let (handle, object) = self.kernel.create(file, |kernel| match kind {
            Kind::Pd => PD,
            Kind::Umem => kernel.umem_id(),
        });
        let id = if let What::Umem(id) = object.what { id } else { 0 };
        let maker = self.join(who, join).holder;
        let known = Known { kind, handle, id, exported: false, alive: true, maker, end: None, mourned: false };
        self.files[file].known.insert(object.uid, known);
        self.files[file].last.insert((kind, handle), object.uid);
        let reference = self.add(who, kind, (context, join), handle, Some(object.uid), true);
        self.processes[who].references.insert(new, reference);
        if kind == Kind::Pd {
            self.known.insert(new, (who, handle, 0));
        }
        Some(Ok(()))
    }

    pub(super) fn import(&mut self, who: Who, kind: Kind, context: Id, source: Source, new: Id) -> Done {
        let (handle, id) = match source {
            Source::Known(of) => {
                let (_, handle, id) = self.known.get(&of)?;
                (*handle, *id)
            }
            Source::Number(number) => (number, 0),
            Source::Forbidden | Source::Null if kind == Kind::Pd => return None,
            Source::Forbidden | Source::Null => return self.import_from_nowhere(who, context, source),
        };
        let (join, file) = match self.context(who, context)? {
            Ok(found) => found,
            Err(errno) => return Some(Err(errno)),
        };
        let uid = match kind {
            Kind::Pd => match self.kernel.find(file, handle, PD) {
                Ok(object) => Some(object.uid),
                Err(errno) => {
                    self.explain(who, file, handle);
                    return Some(Err(errno));
                }
            },
            Kind::Umem => self.judge_blob(who, file, handle, id),
        };
        if uid.is_some_and(|uid| self.join(who, join).touched.get(&uid) == Some(&Some(context))) {
            self.says(who, "note", "import-of-own");
        }
        let reference = self.add(who, kind, (context, join), handle, uid, false);
        self.processes[who].references.insert(new, reference);
        if kind == Kind::Pd {
            self.known.insert(new, (who, handle, 0));
        }
        Some(Ok(()))
    }

    /// The blob is looked at before the context.
    fn import_from_nowhere(&mut self, who: Who, context: Id, source: Source) -> Done {
        self.caller(who)?.contexts.get(&context)?;
        Some(match source {
            Source::Null => self.refuses(who, "null-argument", "EINVAL"),
            _ => self.refuses(who, "bad-pointer", "EFAULT"),
        })
    }

    /// Why an import of a PD failed.
    fn explain(&mut self, who: Who, file: usize, handle: u32) {
        let last = self.files[file].last.get(&(Kind::Pd, handle)).map(|uid| self.files[file].known[uid].clone());
        if let Some(dead) = last {
            let of = dead.end.filter(|by| *by != who);
            self.says(who, "error", "pd-handle-stale").of = of;
        } else if self.is_sighted(file, |object| object.kind == Kind::Pd && object.handle == handle) {
            self.says(who, "error", "pd-handle-foreign");
        }
    }

    /// Whether a live object of another device file is known.
    fn is_sighted(&self, file: usize, is_it: impl Fn(&Known) -> bool) -> bool {
        let others = self.files.iter().enumerate().filter(|(other, _)| *other != file);
        let lives = |other: usize| self.processes.iter().any(|process| process.tells(other));
        others.into_iter().any(|(other, of)| lives(other) && of.known.values().any(|one| one.alive && is_it(one)))
    }

    /// What a blob is of, or what is wrong with it.
    fn judge_blob(&mut self, who: Who, file: usize, handle: u32, id: u32) -> Option<Uid> {
        let last = self.files[file].last.get(&(Kind::Umem, handle)).copied();
        let is_it = |object: &Known| {
            object.alive && object.exported && (object.kind, object.handle, object.id) == (Kind::Umem, handle, id)
        };
        if let Some(uid) = last
            && is_it(&self.files[file].known[&uid])
        {
            return Some(uid);
        }
        let rule = if self.is_sighted(file, is_it) {
            "umem-blob-foreign"
        } else if last.is_some() {
            "umem-blob-stale"
        } else {
            "umem-blob-forged"
        };
        self.says(who, "error", rule);
        None
    }

    /// The live reference that a call is given; or why it is refused. `after_release`: what a released one means.
    fn given(&mut self, who: Who, kind: Kind, given: Given, after_release: &str) -> Option<Result<Id, Answer>> {
        let process = self.caller(who)?;
        let rule = match given {
            Given::Reference(id) => match process.references.get(&id)? {
                one if one.live && one.kind == kind => return Some(Ok(id)),
                one if one.live => "wrong-kind".to_owned(),
                one if one.kind == kind => named(kind, after_release),
                _ => return None,
            },
            Given::Mr(id) => process.mrs.get(&id).map(|_| "wrong-kind".to_owned())?,
            Given::Context(id) => {
                process.contexts.get(&id).filter(|context| context.open).map(|_| "wrong-kind".to_owned())?
            }
            Given::Null => "null-argument".to_owned(),
        };
        Some(self.refuses(who, &rule, "EINVAL").map(|()| 0))
    }

    /// A use other than an end through a live reference.
    fn used(&mut self, who: Who, id: Id) -> Reference {
        let reference = self.processes[who].references[&id].clone();
        if let Fate::Dead { by, .. } = self.fate(who, &reference) {
            self.says(who, "error", &named(reference.kind, "used-after-destroy")).of = by;
        }
        reference
    }

    pub(super) fn export(&mut self, who: Who, umem: Given, new: Id) -> Done {
        let id = match self.given(who, Kind::Umem, umem, "used-after-release")? {
            Ok(id) => id,
            Err(errno) => return Some(Err(errno)),
        };
        let reference = self.used(who, id);
        let file = self.join(who, reference.join).file;
        let mut umem_id = 0;
        if let Some(known) = reference.uid.and_then(|uid| self.files[file].known.get_mut(&uid)) {
            known.exported = true;
            umem_id = known.id;
        }
        if reference.uid.is_some() {
            self.known.insert(new, (who, reference.handle, umem_id));
        }
        Some(Ok(()))
    }

    fn is_closed(&self, who: Who, reference: &Reference) -> bool {
        !self.processes[who].contexts[&reference.context].open
    }

    pub(super) fn reg_mr(&mut self, who: Who, pd: Given, new: Id) -> Done {
        let id = match self.given(who, Kind::Pd, pd, "used-after-release")? {
            Ok(id) => id,
            Err(errno) => return Some(Err(errno)),
        };
        let reference = self.processes[who].references[&id].clone();
        if self.is_closed(who, &reference) {
            return Some(self.refuses(who, "context-closed", "EINVAL"));
        }
        self.used(who, id);
        let file = self.join(who, reference.join).file;
        let of = match self.kernel.find(file, reference.handle, PD) {
            Ok(object) => object.uid,
            Err(errno) => return Some(Err(errno)),
        };
        let (handle, _) = self.kernel.create(file, |_| What::Mr(of));
        let process = &mut self.processes[who];
        process.mrs.insert(new, Mr { file, handle, context: reference.context, pd: id });
        process.references.get_mut(&id)?.children += 1;
        Some(Ok(()))
    }

    pub(super) fn dereg_mr(&mut self, who: Who, id: Id) -> Done {
        let mr = self.caller(who)?.mrs.get(&id)?.clone();
        if let Err(errno) = self.kernel.destroy(mr.file, mr.handle, super::model::MR) {
            return Some(Err(errno));
        }
        let process = &mut self.processes[who];
        process.mrs.remove(&id);
        if let Some(pd) = process.references.get_mut(&mr.pd) {
            pd.children -= 1;
        }
        Some(Ok(()))
    }

    pub(super) fn end(&mut self, who: Who, kind: Kind, end: End, what: Given) -> Done {
        if (kind, end, what) == (Kind::Umem, End::Unimport, Given::Null) {
            self.caller(who)?;
            self.says(who, "note", "null-argument");
            return Some(Ok(()));
        }
        let id = match self.given(who, kind, what, "released-twice")? {
            Ok(id) => id,
            // A void function does not fail.
            Err(errno) => return Some(if end == End::Unimport { Ok(()) } else { Err(errno) }),
        };
        let reference = self.processes[who].references[&id].clone();
        if self.is_closed(who, &reference) && (kind, end) != (Kind::Umem, End::Unimport) {
            let refused = self.refuses(who, "context-closed", "EINVAL");
            return Some(if end == End::Unimport { Ok(()) } else { refused });
        }
        Some(match end {
            End::Unimport => {
                self.unimport(who, id, &reference);
                Ok(())
            }
            End::Destroy => self.destroy(who, id, &reference),
        })
    }

    fn unimport(&mut self, who: Who, id: Id, reference: &Reference) {
        if reference.owned && self.fate(who, reference) == Fate::Alive {
            // A process that has not told yet may have it too.
            let all_tell = !self.join(who, reference.join).here || self.sees_everyone(who, reference.join);
            let severity = if self.has_others(who, reference) || !all_tell { "note" } else { "warning" };
            self.says(who, severity, "unimport-of-owned");
        }
        if reference.children > 0 {
            self.says(who, "warning", "pd-unimport-busy");
        }
        self.ended(who, id);
    }

    fn has_others(&self, who: Who, reference: &Reference) -> bool {
        reference.uid.is_some_and(|uid| {
            let file = self.join(who, reference.join).file;
            self.own(who, reference.join, uid) > 1 || self.is_referred_elsewhere(who, file, uid)
        })
    }

    fn destroy(&mut self, who: Who, id: Id, reference: &Reference) -> Result<(), Answer> {
        let kind = reference.kind;
        let elsewhere = named(kind, "destroyed-elsewhere");
        match self.fate(who, reference) {
            Fate::Dead { replaced: true, by } => {
                let refused = self.refuses(who, &elsewhere, "ENOENT");
                if let Some(found) = self.found.last_mut() {
                    found.of = by;
                }
                return refused;
            }
            Fate::Dead { replaced: false, by } => self.says(who, "warning", &elsewhere).of = by,
            Fate::Alive | Fate::Unknown => {}
        }
        let others = self.has_others(who, reference);
        let file = self.join(who, reference.join).file;
        let victim = match self.kernel.destroy(file, reference.handle, like(kind)) {
            Ok(object) => object.uid,
            Err(errno) => {
                self.failed(who, id, kind, errno);
                return Err(errno);
            }
        };
        if let Some(known) = self.files[file].known.get_mut(&victim) {
            known.alive = false;
            known.end = Some(who);
        }
        self.ended(who, id);
        if others {
            self.says(who, "note", &named(kind, "destroyed-while-shared"));
        }
        Ok(())
    }

    fn failed(&mut self, who: Who, id: Id, kind: Kind, errno: Answer) {
        if let Some(reference) = self.processes[who].references.get_mut(&id) {
            reference.failure = Some((errno, false));
        }
        match kind {
            Kind::Pd if errno == "EBUSY" => drop(self.says(who, "note", "pd-dealloc-busy")),
            Kind::Pd => {}
            Kind::Umem => drop(self.says(who, "note", "umem-dereg-failed")),
        }
    }

    /// The reference is gone; what it leaves behind.
    fn ended(&mut self, who: Who, id: Id) {
        let Some(reference) = self.processes[who].references.get_mut(&id) else { return };
        reference.live = false;
        let (Some(uid), owned, at) = (reference.uid, reference.owned, reference.join) else { return };
        let file = self.join(who, at).file;
        let alive = self.files[file].known.get(&uid).is_some_and(|object| object.alive);
        let join = &mut self.processes[who].joins[at];
        if !alive {
            join.touched.remove(&uid);
            join.told.remove(&uid);
        } else if owned {
            join.touched.insert(uid, None);
        }
    }
}
