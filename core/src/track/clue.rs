//! What is known of an object that an import names and this process has no reference to: who made it, who destroyed it,
//! in which device file it lives.

use std::sync::Arc;

use super::{Current, DeviceFile, HolderFacts, Tracker, World};
use crate::finding::ObjectInfo;
use crate::ledger::{Generation, Handle, Kind};
use crate::site::Trace;

/// A sentence about such an object, and its places.
#[derive(Clone, Debug, Default)]
pub struct Clue {
    /// What is wrong.
    pub message: String,
    /// What the call made all the same.
    pub object: Option<ObjectInfo>,
    /// Where the object that is meant was made.
    pub made: Trace,
    /// Where it was destroyed.
    pub destroyed: Trace,
}

/// An object in another device file.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The name of that device file in reports.
    pub file: Arc<str>,
    /// Who made the object; None for this process, and where that is not known.
    pub maker: Option<HolderFacts>,
    /// Where.
    pub made: Trace,
    /// More device files have such an object: it need not be this one that was meant.
    pub is_one_of_many: bool,
}

/// What a look at other device files gave.
#[derive(Clone, Debug)]
pub enum Elsewhere {
    /// None of them has such an object.
    Nowhere,
    /// None of those that were looked at, and there are more.
    NotAllSeen,
    /// This one has.
    Seen(Sighting),
}

impl Elsewhere {
    pub(super) fn sighting(self) -> Option<Sighting> {
        if let Elsewhere::Seen(sighting) = self { Some(sighting) } else { None }
    }
}

impl Sighting {
    /// "… device file 7f3a, made by pid 4100 (owner)".
    pub(super) fn clue(self, what: &str) -> Clue {
        let by = made_by(self.maker.as_ref());
        let more = if self.is_one_of_many { "; more device files have one of this number" } else { "" };
        Clue { message: format!("{what} device file {}{by}{more}", self.file), made: self.made, ..Clue::default() }
    }
}

/// ", made by pid 4100 (owner)".
fn made_by(maker: Option<&HolderFacts>) -> String {
    maker.map(|who| format!(", made by {who}")).unwrap_or_default()
}

impl DeviceFile {
    /// `what`, who made it, and how it died or else what `alive` says.
    pub(super) fn clue(&self, what: &str, kind: Kind, generation: Generation, now: u64, alive: &str) -> Clue {
        let (maker, made) = self.birth(generation).unwrap_or_default();
        let by = made_by(maker.as_ref());
        match self.death(kind, generation) {
            Some(death) => {
                let message = format!("{what}{by}, was destroyed {}", death.in_words(now));
                Clue { message, made, destroyed: death.trace, ..Clue::default() }
            }
            None => Clue { message: format!("{what}{by}, {alive}"), made, ..Clue::default() },
        }
    }
}

impl Tracker {
    /// Where else a live object of this kind and handle is known: in this process first, then on this host. With an `id`,
    /// only one that was exported under it.
    pub(super) fn sighted(
        &self,
        here: &DeviceFile,
        (kind, handle, id): (Kind, u32, Option<u32>),
        world: &dyn World,
    ) -> Elsewhere {
        let fits =
            |current: &Current| current.alive && id.is_none_or(|id| current.exported && current.second_id == Some(id));
        // One that this process has left may be gone: others tell whether it lives.
        let mut others = self.files().filter(|file| file.index != here.index && file.has_open_contexts());
        let ours = others.find_map(|file| {
            let current = file.current(kind, handle).filter(fits)?;
            let (maker, made) = file.birth(current.generation).unwrap_or_default();
            Some(Sighting { file: file.label.clone(), maker, made, is_one_of_many: false })
        });
        ours.map_or_else(|| world.sighted_elsewhere(here, (kind, Handle(handle), id)), Elsewhere::Seen)
    }
}
