//! What ends with contexts and processes, by the reference model.

use super::kernel::{Answer, Kind, Uid, What};
use super::model::{Fate, Join, Model, Process, Reference};
use super::step::{Id, Who};

type Done = Option<Result<(), Answer>>;

impl Model {
    pub(super) fn fork(&mut self, who: Who, child: Who) -> Done {
        // A fork locks what the guard has, so a forked process that forks tells of itself first.
        let mut copy = self.caller(who)?.clone();
        if self.processes[child].alive || !self.processes[child].joins.is_empty() {
            return None;
        }
        copy.silent = true;
        copy.contexts.values_mut().for_each(|context| context.inherited = true);
        copy.references.values_mut().for_each(|reference| reference.inherited = true);
        self.processes[child] = copy;
        Some(Ok(()))
    }

    pub(super) fn close(&mut self, who: Who, context: Id) -> Done {
        let found = self.caller(who)?.contexts.get(&context)?.clone();
        if !found.open {
            return Some(self.refuses(who, "context-closed-twice", "EINVAL"));
        }
        if found.inherited {
            self.says(who, "warning", "inherited-context-closed");
        }
        let file = self.join(who, found.join).file;
        let process = &self.processes[who];
        let last = !process.contexts.iter().any(|(id, one)| *id != context && one.open && one.join == found.join);
        let lives_on = !last || self.is_held_elsewhere(who, found.join);
        let certain = self.sees_everyone(who, found.join);
        let _ = self.kernel.destroy(file, found.uar, What::Uar);
        self.lost_with(who, context, lives_on);
        if lives_on {
            let orphans = self.take_orphans(who, found.join, true, certain);
            self.says_orphans(who, orphans, certain);
        }
        let left = self.processes[who].mrs.values().filter(|mr| mr.context == context).count();
        if left > 0 && !found.inherited {
            self.says(who, "note", "children-left").count = left;
        }
        let process = &mut self.processes[who];
        process.contexts.entry(context).and_modify(|context| context.open = false);
        process.mrs.retain(|_, mr| mr.context != context);
        process.joins[found.join].here = !last;
        if last {
            self.may_export_unseen(who, found.join);
        }
        Some(Ok(()))
    }

    /// An export needs no context: one after the last is not told any more.
    fn may_export_unseen(&mut self, who: Who, join: usize) {
        let file = self.join(who, join).file;
        let live = self.processes[who].references.values().filter(|one| one.live && one.join == join);
        for uid in live.filter_map(|one| one.uid) {
            self.files[file].known.entry(uid).and_modify(|object| object.exported = true);
        }
    }

    /// References that lose their context.
    fn lost_with(&mut self, who: Who, context: Id, lives_on: bool) {
        for id in self.own_references(who) {
            let reference = self.processes[who].references[&id].clone();
            if reference.context != context {
                continue;
            }
            let told = self.judge_failure(who, id);
            if reference.kind == Kind::Pd && (lives_on || !told) {
                self.says(who, if lives_on { "error" } else { "warning" }, "reference-lost");
            }
            if let (Kind::Pd, true, Some(uid)) = (reference.kind, lives_on, reference.uid) {
                let file = self.join(who, reference.join).file;
                let others = self.own(who, reference.join, uid) > 1 || self.is_referred_elsewhere(who, file, uid);
                if !others {
                    self.mourn(file, uid);
                }
            }
        }
        for reference in self.processes[who].references.values_mut().filter(|one| one.context == context) {
            reference.children = 0;
        }
    }

    /// Live ones that were not inherited.
    fn own_references(&self, who: Who) -> Vec<Id> {
        let all = self.processes[who].references.iter();
        all.filter(|(_, one)| one.live && !one.inherited).map(|(id, _)| *id).collect()
    }

    fn judge_failure(&mut self, who: Who, id: Id) -> bool {
        let Some(reference) = self.processes[who].references.get_mut(&id) else { return false };
        let (rule, told) = match (reference.kind, &mut reference.failure) {
            (Kind::Pd, Some(("EBUSY", told))) => ("pd-dealloc-busy", told),
            (Kind::Umem, Some((_, told))) => ("umem-dereg-failed", told),
            _ => return false,
        };
        if std::mem::replace(told, true) {
            return true;
        }
        self.says(who, "warning", rule);
        true
    }

    fn says_orphans(&mut self, who: Who, count: usize, certain: bool) {
        if count > 0 {
            self.says(who, if certain { "error" } else { "note" }, "object-orphaned").count = count;
        }
    }

    pub(super) fn exit(&mut self, who: Who) {
        if !self.processes[who].silent {
            self.last_report(who);
        }
        self.processes[who].alive = false;
    }

    fn last_report(&mut self, who: Who) {
        for id in self.own_references(who) {
            let reference = &self.processes[who].references[&id];
            if let Some(uid) = reference.uid.filter(|_| self.is_accounted_for(who, reference)) {
                let join = self.latest(who, reference.join);
                self.processes[who].joins[join].told.insert(uid);
            }
        }
        for id in self.own_references(who) {
            if !self.judge_failure(who, id) {
                self.left_behind(who, id);
            }
        }
        for join in 0..self.processes[who].joins.len() {
            if self.join(who, join).here && self.is_held_elsewhere(who, join) {
                let certain = self.sees_everyone(who, join);
                let orphans = self.take_orphans(who, join, false, certain);
                self.says_orphans(who, orphans, certain);
            }
        }
    }

    /// The process's present place in the device file of an earlier one.
    fn latest(&self, who: Who, join: usize) -> usize {
        let joins = &self.processes[who].joins;
        joins.iter().position(|one| one.here && one.file == joins[join].file).unwrap_or(join)
    }

    /// Its loss is told by another rule than its object's.
    fn is_accounted_for(&self, who: Who, reference: &Reference) -> bool {
        let closed = !self.processes[who].contexts[&reference.context].open;
        reference.failure.is_some() || closed && (reference.kind == Kind::Pd || !reference.owned)
    }

    /// A live reference at exit; orphans are counted by object, after this.
    fn left_behind(&mut self, who: Who, id: Id) {
        let process: &Process = &self.processes[who];
        let reference = process.references[&id].clone();
        let closed = !process.contexts[&reference.context].open;
        let join = self.latest(who, reference.join);
        let held = self.is_held_elsewhere(who, join);
        if closed && reference.kind == Kind::Pd {
            return;
        }
        if closed && !reference.owned || reference.failure.is_some() {
            self.says(who, if held { "error" } else { "warning" }, "reference-lost");
            return;
        }
        let Join { file, here, .. } = *self.join(who, join);
        let elsewhere = |uid: Uid| self.is_referred_elsewhere(who, file, uid);
        let rule = match (held, self.fate(who, &reference)) {
            (false, _) => "held-at-exit",
            (true, Fate::Unknown) => return,
            // Told with the other orphans; where the process has left the device file, by itself.
            (true, Fate::Alive) if !reference.uid.is_some_and(elsewhere) => {
                let told = &mut self.processes[who].joins[join].told;
                if !here && reference.uid.is_some_and(|uid| told.insert(uid)) {
                    self.says_orphans(who, 1, false);
                }
                return;
            }
            (true, Fate::Alive) => "left-to-others",
            (true, Fate::Dead { .. }) => "held-at-exit",
        };
        self.says(who, "note", rule);
    }
}
