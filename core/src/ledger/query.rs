//! What checks, `ps` and `report` ask of a state.

use crate::ledger::child::ChildKind;
use crate::ledger::event::{Event, Generation, Handle, HolderId, Kind, Stamp};
use crate::ledger::object::{Mark, Object, Reference};
use crate::ledger::state::FileState;

impl FileState {
    /// The present, or else the last known, object under a handle.
    pub fn object(&self, kind: Kind, handle: Handle) -> Option<&Object> {
        let object = self.objects.get(self.current.get(&(kind, handle))?);
        // A hostile record may have given its generation to another one.
        object.filter(|object| (object.kind, object.handle) == (kind, handle))
    }

    /// An object that is alive, referenced, or not dead for long.
    pub fn object_by_generation(&self, generation: Generation) -> Option<&Object> {
        self.objects.get(&generation)
    }

    /// The object whose birth got this sequence number: another generation where an importer had met it before.
    pub fn object_told(&self, kind: Kind, handle: Handle, seq: u64) -> Option<&Object> {
        self.generations(kind, handle).find(|object| object.generation.0 == seq || object.told == seq)
    }

    /// The objects that had this handle, the latest first, as far as they are remembered.
    pub fn generations(&self, kind: Kind, handle: Handle) -> impl Iterator<Item = &Object> {
        std::iter::successors(self.object(kind, handle), |object| {
            let before = self.objects.get(self.previous.get(&object.generation)?)?;
            // Strictly downwards, so that a hostile record cannot make a ring.
            (before.generation < object.generation).then_some(before)
        })
    }

    /// All objects known: the living, and the dead that are referenced or not dead for long.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// The live references to an object.
    pub fn references(&self, generation: Generation) -> impl Iterator<Item = &Reference> {
        let keys = self.referenced.get(&generation).into_iter().flatten();
        keys.filter_map(|(holder, serial)| self.holdings.get(holder)?.references.get(serial))
    }

    /// The live references to an object that others than `me` have.
    pub fn references_of_others(&self, generation: Generation, me: HolderId) -> impl Iterator<Item = &Reference> {
        self.references(generation).filter(move |reference| reference.holder != me)
    }

    /// The live references of a holder.
    pub fn references_of(&self, holder: HolderId) -> impl Iterator<Item = &Reference> {
        self.holdings.get(&holder).into_iter().flat_map(|holding| holding.references.values())
    }

    /// The children that each holder has under a PD, where there are any.
    pub fn children_of(&self, pd: Generation) -> impl Iterator<Item = (HolderId, ChildKind, u64)> {
        self.holdings.iter().flat_map(move |(holder, holding)| {
            let of_pd =
                holding.children.iter().filter(move |((_, generation, _), count)| *generation == pd && **count > 0);
            of_pd.map(|((_, _, child), count)| (*holder, *child, count.unsigned_abs()))
        })
    }

    /// The children that a holder has, as events that make them anew.
    pub(super) fn children_by(&self, holder: HolderId) -> impl Iterator<Item = Event> {
        let children = self.holdings.get(&holder).into_iter().flat_map(|holding| holding.children.iter());
        children.map(move |((pd, generation, child), count)| {
            let delta = i32::try_from(*count).unwrap_or(if *count < 0 { i32::MIN } else { i32::MAX });
            Event::Children { holder, pd: *pd, generation: *generation, child: *child, delta }
        })
    }

    /// The objects that are not known to be dead.
    pub fn living(&self) -> impl Iterator<Item = &Object> {
        self.objects().filter(|object| object.may_live())
    }

    /// The dead, those that are still referenced first, then in the order in which they died.
    pub(super) fn dead(&self) -> impl Iterator<Item = &Object> {
        let referenced =
            self.objects().filter(|object| !object.may_live() && !self.queued.contains(&object.generation));
        referenced.chain(self.recent.iter().filter_map(|generation| self.objects.get(generation)))
    }

    /// Whether all that ever happened in the device file is known: its opener was guarded, no stranger was seen to hold
    /// it, and no event was lost. Whoever asks looks for strangers first.
    pub fn whole(&self) -> bool {
        self.opened_guarded() && self.stranger.is_none() && !self.lost
    }

    /// Whether an event is missing.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether the first to meet the device file had opened it itself, under the guard.
    pub fn opened_guarded(&self) -> bool {
        self.first.is_some_and(|(_, guarded)| guarded)
    }

    /// The first holder that joined, and whether it had opened the device file under the guard.
    pub fn first(&self) -> Option<(Mark, bool)> {
        self.first
    }

    /// The holders that joined and did not leave, and when they joined; the dead among them are not known here.
    pub fn joined(&self) -> impl Iterator<Item = (HolderId, Stamp)> {
        self.joined.iter().map(|(holder, stamp)| (*holder, *stamp))
    }

    /// The first process that was seen to hold the device file without the guard, and who saw it.
    pub fn stranger(&self) -> Option<(u32, Mark)> {
        self.stranger
    }

    /// The last sequence number.
    pub fn last_seq(&self) -> u64 {
        self.next
    }
}
