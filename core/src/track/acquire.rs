//! Births of references: alloc, register, import.

use std::sync::Arc;

use super::patience::read;
use super::{
    ContextId, Current, DeviceFile, FileIndex, Mark, Newcomer, Origin, Reference, State, Subject, Thing, Tracker,
    Verdict, World,
};
use crate::check::{self, BlobView, Fault, HandleView};
use crate::ledger::{Generation, Kind};
use crate::rules::Rule;

/// A creating call under way, in a context that is known and open.
#[derive(Clone, Copy, Debug)]
pub struct BirthToken {
    /// The context that the call names.
    pub context: ContextId,
    /// Its address.
    pub address: usize,
    /// Its device file.
    pub file: FileIndex,
    /// The number of that file's descriptor when it was opened.
    pub cmd_fd: i32,
}

/// What a creating call brought.
#[derive(Clone, Copy, Debug)]
pub struct Newborn {
    /// Address of the new struct.
    pub address: usize,
    /// PD or UMEM.
    pub kind: Kind,
    /// Its handle.
    pub handle: u32,
    /// The PD's pdn, the UMEM's id.
    pub second_id: Option<u32>,
    /// Bytes registered.
    pub size: u64,
    /// How it came.
    pub origin: Origin,
}

impl Tracker {
    /// Before a call that makes something in the context at `address`. `None` in the outcome: an unknown context.
    pub fn begin_birth(&self, address: usize) -> Verdict<BirthToken> {
        if let Some(token) = self.open_context(address) {
            return Verdict::forward(Some(token));
        }
        let contexts = read(&self.contexts);
        let Some(context) = contexts.get(address) else { return Verdict::forward(None) };
        let subject = || Subject::Context(address, Box::new(context.clone()));
        self.verdict(check::context(context), subject, || None)
    }

    /// After a call that brought `newborn`.
    pub fn finish_birth(
        &self,
        token: BirthToken,
        newborn: Newborn,
        mark: Mark,
        world: &dyn World,
    ) -> Vec<(Fault, Subject)> {
        let Some(file) = self.file(token.file) else { return Vec::new() };
        let Newborn { address, kind, handle, second_id, origin, .. } = newborn;
        let new = Newcomer { kind, handle, second_id, mark };
        let (faults, reference) = match origin {
            Origin::Owned => (Vec::new(), file.made(new, self.reference(token, &newborn, None, mark))),
            Origin::Imported => {
                let (faults, generation) = self.judge_import(token, new, &file, world);
                let reference = self.reference(token, &newborn, generation, mark);
                file.imported(&reference);
                (faults, reference)
            }
        };
        let faults =
            faults.into_iter().map(|fault| (fault, Subject::Reference(address, Box::new(reference.clone())))).collect();
        let replaced = self.table.at(address).put(address, Thing::Reference(reference));
        self.superseded(replaced);
        self.counted(faults)
    }

    fn reference(&self, token: BirthToken, new: &Newborn, generation: Option<Generation>, mark: Mark) -> Reference {
        Reference {
            serial: self.next_serial(),
            kind: new.kind,
            file: token.file,
            handle: new.handle,
            generation,
            second_id: new.second_id,
            origin: new.origin,
            state: State::Live,
            context: token.context,
            context_closed: false,
            inherited: false,
            ignored: false,
            children: 0,
            parent_domains: 0,
            fatal_children: 0,
            busy_told: false,
            size: new.size,
            born: mark,
            ended: Mark::default(),
            failure: None,
            name: None,
        }
    }

    /// A live reference stood where a new struct was just made: its end was not seen, so nothing is known of its
    /// object from here on. One that is dying is its own thread's to finish.
    fn superseded(&self, replaced: Option<Thing>) {
        match replaced {
            Some(Thing::Reference(old)) if old.state == State::Live => {
                if let Some(file) = self.file(old.file) {
                    file.lost_sight(&old);
                }
            }
            Some(Thing::Child(old)) => self.uncount(&old),
            _ => {}
        }
    }

    fn judge_import(
        &self,
        token: BirthToken,
        new: Newcomer,
        file: &DeviceFile,
        world: &dyn World,
    ) -> (Vec<Fault>, Option<Generation>) {
        let current = file.current(new.kind, new.handle);
        let mut faults = Vec::new();
        let generation = match new.kind {
            Kind::Pd => {
                let recorded = current.filter(|current| current.alive && current.seen);
                faults.extend(check::pdn(recorded.and_then(|current| current.second_id), new.second_id));
                // What came back is a live PD of this handle, whatever the record says.
                match current {
                    Some(current) if current.alive && faults.is_empty() => Some(current.generation),
                    _ => Some(file.met(new)),
                }
            }
            Kind::Umem => {
                let view = self.blob_view(file, &new, current, world);
                faults.extend(check::blob(view));
                match current {
                    Some(current) if view.good => Some(current.generation),
                    // Nobody who could have been seen registered it: an unguarded process may have.
                    None if !view.history_is_whole => Some(file.met(new)),
                    _ => None,
                }
            }
        };
        if generation.is_some_and(|generation| file.owner(generation) == Some(token.context)) {
            faults.push(check::import_of_own());
        }
        (faults, generation)
    }

    fn blob_view(&self, here: &DeviceFile, new: &Newcomer, current: Option<Current>, world: &dyn World) -> BlobView {
        let matches = |current: &Current| current.alive && current.second_id == new.second_id;
        let good = current.is_some_and(|current| matches(&current) && (current.exported || !current.seen));
        if good {
            return BlobView { good, ..BlobView::default() };
        }
        let is_export = |other: &Arc<DeviceFile>| {
            other.current(new.kind, new.handle).is_some_and(|other| matches(&other) && other.exported)
        };
        BlobView {
            good,
            live_in_other_file: self.files().iter().any(|other| other.index != here.index && is_export(other)),
            stale: current.is_some(),
            history_is_whole: world.history_is_whole(here),
        }
    }

    /// Why an `ibv_import_pd` of `handle` failed with `error`, where the records explain it.
    pub fn failed_import(&self, token: BirthToken, handle: u32, error: i32) -> Option<(Fault, String)> {
        let file = self.file(token.file)?;
        let current = file.current(Kind::Pd, handle);
        let others: Vec<_> = self.files().into_iter().filter(|other| other.index != token.file).collect();
        let lives_in = |other: &&Arc<DeviceFile>| other.current(Kind::Pd, handle).is_some_and(|current| current.alive);
        let view = HandleView {
            dead_here: current.is_some_and(|current| !current.alive),
            alive_here: current.is_some_and(|current| current.alive),
            alive_in_other_file: others.iter().any(|other| lives_in(&other)),
            is_pdn_here: file.has_pdn(handle),
        };
        let fault = check::failed_import(error, view)?;
        let fault = self.policy.apply(vec![fault]).pop()?;
        let message = match fault.rule {
            Rule::PdHandleStale => {
                format!("pd_handle {handle} was a PD of device file {} that has been destroyed", file.label)
            }
            Rule::PdHandleForeign => {
                let label = others.iter().find(lives_in).map_or("?", |other| &other.label);
                format!(
                    "pd_handle {handle} is no PD of device file {}, but a live one of device file {label}",
                    file.label
                )
            }
            _ => format!(
                "pd_handle {handle} is no handle here but the pdn of a live PD: pass ibv_pd->handle, not the pdn"
            ),
        };
        Some((fault, message))
    }
}
