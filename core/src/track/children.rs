//! What hangs on PDs, counted on the reference it was made with; and what lives in contexts.

use super::patience::read;
use super::{
    BirthToken, Child, ChildKind, ContextId, Mark, Named, NewChild, PdObject, Reference, State, Subject, Thing,
    Tracker, Verdict, World,
};
use crate::check::{self, Fate, Fault, errno};
use crate::ledger::Kind;
use crate::rules::Rule;

/// Another struct stands where the live reference was, which is used past us.
pub(super) fn ended_unseen(reference: &Reference, address: usize, world: &dyn World) -> bool {
    reference.unwatched && reference.is_live() && !world.is_intact(reference, address)
}

/// A call under way that makes a child of a PD, or uses one.
#[derive(Clone, Copy, Debug)]
pub struct ChildToken {
    pd: Option<Named>,
    object: Option<PdObject>,
    through_parent_domain: bool,
    context: ContextId,
}

/// A child that hangs on no PD.
impl From<BirthToken> for ChildToken {
    fn from(token: BirthToken) -> ChildToken {
        ChildToken { pd: None, object: None, through_parent_domain: false, context: token.context }
    }
}

/// A call under way that ends a child.
#[derive(Clone, Copy, Debug)]
pub struct ChildEndToken {
    address: usize,
    serial: u64,
}

impl Tracker {
    /// Before a call other than unimport and destroy through the reference to a `kind` at `address`.
    pub fn begin_use(&self, address: usize, kind: Kind, reads_context: bool, world: &dyn World) -> Verdict<ChildToken> {
        let mut shard = self.table.at(address);
        let reference = match shard.get(address) {
            None => {
                drop(shard);
                return self.use_of_unknown(address);
            }
            Some(Thing::Child(child)) if child.kind == ChildKind::ParentDomain && kind == Kind::Pd => {
                drop(shard);
                return self.use_of_parent_domain(&child, world);
            }
            Some(Thing::Child(child)) => {
                let faults = vec![Fault::refused(Rule::WrongKind, errno::EINVAL)];
                return self.verdict(faults, || Subject::Child(address, Box::new(child.clone())), || None);
            }
            Some(Thing::Reference(reference)) => reference,
        };
        let is_gone = matches!(reference.state, State::Released(_)) && self.is_reborn(&reference, address, world);
        if is_gone || ended_unseen(&reference, address, world) {
            let serial = reference.serial;
            shard.take(address, serial);
            return Verdict::forward(None);
        }
        let faults = if reference.kind == kind {
            check::use_of(&reference, self.fate(&reference), reads_context)
        } else if reference.is_live() {
            vec![Fault::refused(Rule::WrongKind, errno::EINVAL)]
        } else {
            return Verdict::forward(None);
        };
        let subject = || Subject::Reference(address, Box::new(reference.clone()));
        // Children of a PD that is used past us may end unseen: they are not counted on it.
        let is_seen = kind != Kind::Pd || !reference.unwatched;
        let token = ChildToken {
            pd: is_seen.then_some(Named { address, serial: reference.serial }),
            object: if is_seen { PdObject::of(&reference) } else { None },
            through_parent_domain: false,
            context: reference.context,
        };
        self.verdict(faults, subject, || Some(token))
    }

    /// A parent domain stands for its PD.
    fn use_of_parent_domain(&self, domain: &Child, world: &dyn World) -> Verdict<ChildToken> {
        let Some(pd) = domain.pd else { return Verdict::forward(None) };
        let mut verdict = self.begin_use(pd.address, Kind::Pd, true, world);
        if let Ok(Some(token)) = &mut verdict.outcome {
            token.through_parent_domain = true;
        }
        verdict
    }

    fn use_of_unknown(&self, address: usize) -> Verdict<ChildToken> {
        let contexts = read(&self.contexts);
        let Some(context) = contexts.get(address).filter(|context| context.is_open()) else {
            return Verdict::forward(None);
        };
        let faults = vec![Fault::refused(Rule::WrongKind, errno::EINVAL)];
        self.verdict(faults, || Subject::Context(address, Box::new(context.clone())), || None)
    }

    pub(super) fn fate(&self, reference: &Reference) -> Fate {
        match (self.file(reference.file), reference.generation) {
            (Some(file), Some(generation)) => file.fate(reference.kind, reference.handle, generation),
            _ => Fate::Unknown,
        }
    }

    /// After a call that made `new` with the PD, or in the context, of `token`.
    pub fn finish_child(&self, token: ChildToken, new: NewChild, mark: Mark) {
        let NewChild { address, kind, handle, number } = new;
        let child = Child {
            serial: self.next_serial(),
            kind,
            handle,
            number,
            pd: token.pd,
            object: token.object,
            through_parent_domain: token.through_parent_domain,
            context: token.context,
            born: mark,
        };
        self.count(&child, 1);
        let replaced = self.table.at(address).put(address, Thing::Child(child));
        if let Some(replaced) = replaced {
            self.superseded(replaced);
        }
    }

    /// Before a call that ends the child at `address`.
    pub fn begin_child_end(&self, address: usize) -> Verdict<ChildEndToken> {
        let shard = self.table.at(address);
        match shard.get(address) {
            Some(Thing::Child(child)) => {
                drop(shard);
                self.begin_end_of(address, child)
            }
            Some(Thing::Reference(reference)) if reference.is_live() => {
                let faults = vec![Fault::refused(Rule::WrongKind, errno::EINVAL)];
                self.verdict(faults, || Subject::Reference(address, Box::new(reference.clone())), || None)
            }
            _ => Verdict::forward(None),
        }
    }

    /// Some read their PD's struct while they go.
    fn begin_end_of(&self, address: usize, child: Child) -> Verdict<ChildEndToken> {
        let pd = child.pd.and_then(|pd| {
            let shard = self.table.at(pd.address);
            shard.reference(pd.address).filter(|now| now.serial == pd.serial)
        });
        let told = pd.as_ref().is_some_and(|pd| pd.busy_told);
        let faults = check::child_destroy(child.reads_pd(), pd.as_ref(), told);
        let token = ChildEndToken { address, serial: child.serial };
        self.verdict(faults, || Subject::Child(address, Box::new(child.clone())), || Some(token))
    }

    /// Before `ibv_dealloc_pd` of the parent domain at `address`, if one stands there.
    pub fn begin_parent_domain_end(&self, address: usize) -> Option<ChildEndToken> {
        match self.table.at(address).get(address) {
            Some(Thing::Child(child)) if child.kind == ChildKind::ParentDomain => {
                Some(ChildEndToken { address, serial: child.serial })
            }
            _ => None,
        }
    }

    /// After an export through the reference of `token`.
    pub fn exported(&self, token: ChildToken, mark: Mark) {
        let Some(Named { address, serial }) = token.pd else { return };
        let found = self.table.at(address).reference(address).filter(|found| found.serial == serial);
        if let Some(reference) = found
            && let (Some(file), Some(generation)) = (self.file(reference.file), reference.generation)
        {
            file.exported(reference.kind, reference.handle, generation, mark);
        }
    }

    /// After that call succeeded.
    pub fn finish_child_end(&self, token: ChildEndToken) {
        let taken = self.table.at(token.address).take(token.address, token.serial);
        if let Some(Thing::Child(child)) = taken {
            self.uncount(&child);
        }
    }

    /// After the program was told the number of the PD of `token`.
    pub fn pdn_given(&self, token: ChildToken) {
        let Some(Named { address, serial }) = token.pd else { return };
        self.table.at(address).change(address, serial, |reference| reference.pdn_given = true);
    }

    /// After the child at `address` was moved to the PD of `token`.
    pub fn move_child(&self, token: ChildToken, address: usize) {
        let mut shard = self.table.at(address);
        let Some(Thing::Child(before)) = shard.get(address) else { return };
        let ChildToken { pd, object, through_parent_domain, .. } = token;
        let after = Child { pd, object, through_parent_domain, ..before.clone() };
        shard.put(address, Thing::Child(after.clone()));
        drop(shard);
        self.count(&before, -1);
        self.count(&after, 1);
    }

    /// The live children made through the reference with this serial, for a report.
    pub fn children_of(&self, pd: Named) -> Vec<(usize, Child)> {
        self.children_that(|child| child.pd == Some(pd))
    }

    /// The live children that this process has on the kernel's PD, made through whichever reference to it.
    pub fn children_on(&self, pd: &Reference) -> Vec<(usize, Child)> {
        let object = PdObject::of(pd);
        self.children_that(|child| object.is_some() && child.object == object)
    }

    fn children_that(&self, fit: impl Fn(&Child) -> bool) -> Vec<(usize, Child)> {
        let mut found = Vec::new();
        for shard in self.table.shards() {
            found.extend(shard.iter().filter_map(|(address, thing)| match thing {
                Thing::Child(child) if fit(&child) => Some((address, child)),
                _ => None,
            }));
        }
        found.sort_by_key(|(_, child)| child.serial);
        found
    }

    pub(super) fn uncount(&self, child: &Child) {
        self.count(child, -1);
    }

    fn count(&self, child: &Child, by: i32) {
        self.count_on_reference(child, by);
        if let Some(PdObject { file, handle, generation }) = child.object
            && let Some(file) = self.file(file)
        {
            file.children(handle, generation, child.kind, by);
        }
    }

    fn count_on_reference(&self, child: &Child, by: i32) {
        let Some(pd) = child.pd else { return };
        let add = |count: &mut u32, counts: bool| *count = count.saturating_add_signed(if counts { by } else { 0 });
        self.table.at(pd.address).change(pd.address, pd.serial, |reference| {
            add(&mut reference.children, true);
            add(&mut reference.parent_domains, child.kind == ChildKind::ParentDomain);
            add(&mut reference.fatal_children, child.reads_pd());
        });
    }
}
