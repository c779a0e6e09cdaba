//! Births of references: alloc, register, import.

use super::kept::{Kept, Plain};
use super::patience::read;
use super::{
    Clue, ContextId, Current, DeviceFile, Elsewhere, FileIndex, Mark, Newcomer, Origin, Reference, Sighting, State,
    Subject, Thing, Tracker, Verdict, World,
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
    /// The context was made where it was not seen.
    pub adopted: bool,
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

/// A reference that was just born.
pub(super) struct Birth {
    pub(super) serial: u64,
    pub(super) token: BirthToken,
    pub(super) newborn: Newborn,
    pub(super) generation: Option<Generation>,
    pub(super) mark: Mark,
}

impl Birth {
    fn reference(&self) -> Reference {
        let Birth { serial, token, newborn, generation, mark } = *self;
        let Newborn { address: _, kind, handle, second_id, size, origin } = newborn;
        Reference {
            serial,
            generation,
            second_id,
            context: token.context,
            unwatched: token.adopted,
            size,
            ..Reference::new(kind, token.file, handle, origin, mark)
        }
    }

    #[cold]
    fn unusual(&self) -> Kept {
        Kept::of(Thing::Reference(self.reference()))
    }
}

/// What an import turned out to be of.
struct Imported {
    generation: Option<Generation>,
    /// What is wrong with it, and what else is known. In a box, for there hardly ever is anything.
    fault: Option<Box<(Fault, Option<Box<Clue>>)>>,
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
        let Imported { generation, fault } = match origin {
            Origin::Owned => Imported { generation: file.made(&new, token.context), fault: None },
            Origin::Imported => self.judge_import(token, &new, file, world),
        };
        let born = Birth { serial: self.next_serial(), token, newborn, generation, mark };
        // Before it stands in the table, and so before a forked child can inherit it: the child would find its parent's word
        // of the object, and none of the reference.
        if file.tells() {
            file.tell_acquired(&born.reference());
        }
        let kept = Plain::born(&born).map_or_else(|| born.unusual(), Kept::Plain);
        let replaced = self.table.at(address).put_kept(address, kept);
        if let Some(replaced) = replaced {
            self.superseded(replaced.open());
        }
        fault.map_or_else(Vec::new, |fault| self.import_fault(*fault, &born))
    }

    #[cold]
    fn import_fault(&self, (fault, clue): (Fault, Option<Box<Clue>>), born: &Birth) -> Vec<(Fault, Subject)> {
        let subject = self.import_subject(born.newborn.address, &born.reference(), clue, born.mark.time);
        self.counted(vec![(fault, subject)])
    }

    fn import_subject(&self, address: usize, reference: &Reference, clue: Option<Box<Clue>>, now: u64) -> Subject {
        let Some(clue) = clue else { return Subject::Reference(address, Box::new(reference.clone())) };
        let object = self.reference_info(address, reference, now);
        let message = format!("{object}: {}", clue.message);
        Subject::Elsewhere(Box::new(Clue { message, object: Some(object), ..*clue }))
    }

    /// A live reference stood where a new struct was just made: its end was not seen, so nothing is known of its
    /// object from here on. One that is dying is its own thread's to finish.
    #[cold]
    pub(super) fn superseded(&self, replaced: Thing) {
        match replaced {
            Thing::Reference(old) if old.state == State::Live => {
                if let Some(file) = self.file(old.file) {
                    file.lost_sight(&old);
                }
            }
            Thing::Reference(_) => {}
            Thing::Child(old) => self.uncount(&old),
        }
    }

    /// What an import is of. The reference is counted with its object.
    fn judge_import(&self, token: BirthToken, new: &Newcomer, file: &DeviceFile, world: &dyn World) -> Imported {
        match file.recognised(new, |current| check::is_same(new, current)) {
            Ok(known) if known.owner == Some(token.context) => {
                Imported { generation: Some(known.generation), fault: Some(Box::new((check::import_of_own(), None))) }
            }
            Ok(known) => Imported { generation: Some(known.generation), fault: None },
            Err(current) => self.judge_stranger(new, current, file, world),
        }
    }

    /// An import that is not of what the record has under its handle.
    #[cold]
    fn judge_stranger(
        &self,
        new: &Newcomer,
        current: Option<Current>,
        file: &DeviceFile,
        world: &dyn World,
    ) -> Imported {
        match new.kind {
            Kind::Pd => {
                let recorded = current.filter(|current| current.alive && current.seen);
                let fault = check::pdn(recorded.and_then(|current| current.second_id), new.second_id);
                // What came back is a live PD of this handle, whatever the record says.
                Imported { generation: file.met(new), fault: fault.map(|fault| Box::new((fault, None))) }
            }
            Kind::Umem => {
                let (view, sighting) = self.blob_view(file, new, current, world);
                let fault = check::blob(view);
                let clue = blob_clue(fault.rule, file, new, current, sighting);
                // Nobody who could have been seen registered it: an unguarded process may have.
                let met = current.is_none() && !view.history_is_whole;
                Imported {
                    generation: met.then(|| file.met(new)).flatten(),
                    fault: Some(Box::new((fault, Some(Box::new(clue))))),
                }
            }
        }
    }

    fn blob_view(
        &self,
        here: &DeviceFile,
        new: &Newcomer,
        current: Option<Current>,
        world: &dyn World,
    ) -> (BlobView, Option<Sighting>) {
        let elsewhere = self.sighted(here, (new.kind, new.handle, new.second_id), world);
        let looked_everywhere = !matches!(elsewhere, Elsewhere::NotAllSeen);
        let sighting = elsewhere.sighting();
        let view = BlobView {
            live_in_other_file: sighting.is_some(),
            stale: current.is_some(),
            history_is_whole: world.history_is_whole(here),
            looked_everywhere,
        };
        (view, sighting)
    }

    /// Why an `ibv_import_pd` of `handle` failed with `error`, where the records explain it.
    pub fn failed_import(
        &self,
        token: BirthToken,
        handle: u32,
        error: i32,
        now: u64,
        world: &dyn World,
    ) -> Option<(Fault, Subject)> {
        let file = self.file(token.file)?;
        let current = file.current(Kind::Pd, handle);
        // Only a handle that means nothing here is looked for elsewhere, which takes time.
        let elsewhere = match current {
            None if check::denies(error) => self.sighted(file, (Kind::Pd, handle, None), world).sighting(),
            _ => None,
        };
        let of_pdn = file.of_pdn(handle);
        let view = HandleView {
            dead_here: current.is_some_and(|current| !current.alive),
            alive_here: current.is_some_and(|current| current.alive),
            alive_in_other_file: elsewhere.is_some(),
            is_pdn_here: of_pdn.is_some(),
        };
        let fault = check::failed_import(error, view)?;
        let fault = self.policy.apply(vec![fault]).pop()?;
        let here = &file.label;
        let clue = match (fault.rule, current, elsewhere, of_pdn) {
            (Rule::PdHandleStale, Some(current), ..) => {
                let what = format!("pd_handle {handle}: the PD of this handle in device file {here}");
                file.clue(&what, Kind::Pd, current.generation, now, "is gone")
            }
            (Rule::PdHandleForeign, _, Some(sighting), _) => {
                sighting.clue(&format!("pd_handle {handle} is no PD of device file {here}, but a live one of"))
            }
            (_, _, _, Some(generation)) => {
                let what = format!("pd_handle {handle} is no handle here but the pdn of a PD");
                file.clue(&what, Kind::Pd, generation, now, "that lives: pass ibv_pd->handle, not the pdn")
            }
            _ => return None,
        };
        Some((fault, Subject::Elsewhere(Box::new(clue))))
    }
}

/// What a blob that names no UMEM here is about.
fn blob_clue(
    rule: Rule,
    here: &DeviceFile,
    new: &Newcomer,
    current: Option<Current>,
    sighting: Option<Sighting>,
) -> Clue {
    match (rule, current, sighting) {
        (Rule::UmemBlobForeign, _, Some(sighting)) => sighting.clue("this blob was exported from"),
        (Rule::UmemBlobStale, Some(current), _) => {
            let mut clue = here.clue(
                "the UMEM of this handle",
                Kind::Umem,
                current.generation,
                new.mark.time,
                "is another one, or was never exported",
            );
            clue.message.push_str("; the import only looks successful");
            clue
        }
        _ => Clue {
            message: "no process is known to have exported this blob; the import only looks successful".into(),
            ..Clue::default()
        },
    }
}
