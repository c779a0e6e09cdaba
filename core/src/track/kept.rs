//! How a table keeps things: millions of references may be live, and nearly all of them are plain.

use super::acquire::Birth;
use super::{Child, ContextId, End, FileIndex, Mark, Newborn, Origin, Reference, State, Thing};
use crate::ledger::{Generation, Kind};
use crate::site::Site;

/// A thing in a table.
#[derive(Debug)]
pub(super) enum Kept {
    /// A reference with nothing unusual about it.
    Plain(Plain),
    /// One that has a name, children, a failure …
    Whole(Box<Reference>),
    /// A child of a PD.
    Child(Box<Child>),
}

// With its address a table's entry has 64 bytes.
const _: () = assert!(size_of::<Kept>() == 56);

/// A reference in few bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    serial: u64,
    /// [`NOT_KNOWN`] for none.
    generation: u64,
    born_at: u64,
    handle: u32,
    second_id: u32,
    context: ContextId,
    file: FileIndex,
    born: Site,
    ended: Site,
    size: [u8; 6],
    flags: u8,
    kind: Kind,
}

const NOT_KNOWN: u64 = u64::MAX;

// Flags; the low three bits are the state.
const IMPORTED: u8 = 8;
const HAS_SECOND: u8 = 16;
const CONTEXT_CLOSED: u8 = 32;
const INHERITED: u8 = 64;
const IGNORED: u8 = 128;
const STATE: u8 = 7;

const STATES: [State; 5] = [
    State::Live,
    State::Dying(End::Unimport),
    State::Dying(End::Destroy),
    State::Released(End::Unimport),
    State::Released(End::Destroy),
];

const fn number(state: State) -> u8 {
    match state {
        State::Live => 0,
        State::Dying(End::Unimport) => 1,
        State::Dying(End::Destroy) => 2,
        State::Released(End::Unimport) => 3,
        State::Released(End::Destroy) => 4,
    }
}

impl Plain {
    /// None where something would be lost.
    #[inline(always)]
    fn of(reference: &Reference) -> Option<Plain> {
        // Named one by one: a new field has to be thought of here.
        let Reference {
            serial,
            kind,
            file,
            handle,
            generation,
            second_id,
            origin,
            state,
            context,
            context_closed,
            inherited,
            ignored,
            unwatched: false,
            children: 0,
            parent_domains: 0,
            fatal_children: 0,
            pdn_given: false,
            busy_told: false,
            size,
            born,
            ended,
            failure: None,
            name: None,
        } = *reference
        else {
            return None;
        };
        let bytes = size.to_le_bytes();
        let flag = |flag: u8, on: bool| if on { flag } else { 0 };
        (bytes[6..] == [0; 2]).then_some(Plain {
            serial,
            generation: generation.map_or(NOT_KNOWN, |generation| generation.0),
            born_at: born.time,
            handle,
            second_id: second_id.unwrap_or_default(),
            context,
            file,
            born: born.site,
            ended,
            size: std::array::from_fn(|i| bytes[i]),
            flags: number(state)
                | flag(IMPORTED, origin == Origin::Imported)
                | flag(HAS_SECOND, second_id.is_some())
                | flag(CONTEXT_CLOSED, context_closed)
                | flag(INHERITED, inherited)
                | flag(IGNORED, ignored),
            kind,
        })
    }

    /// A reference that was just born; None where something about it is unusual.
    #[inline]
    pub(super) fn born(birth: &Birth) -> Option<Plain> {
        let Birth { serial, ref token, ref newborn, generation, mark } = *birth;
        let Newborn { address: _, kind, handle, second_id, size, origin } = *newborn;
        let bytes = size.to_le_bytes();
        let is_plain = bytes[6..] == [0; 2] && !token.adopted;
        is_plain.then_some(Plain {
            serial,
            generation: generation.map_or(NOT_KNOWN, |generation| generation.0),
            born_at: mark.time,
            handle,
            second_id: second_id.unwrap_or_default(),
            context: token.context,
            file: token.file,
            born: mark.site,
            ended: Site::NONE,
            size: std::array::from_fn(|i| bytes[i]),
            flags: number(State::Live)
                | if origin == Origin::Imported { IMPORTED } else { 0 }
                | if second_id.is_some() { HAS_SECOND } else { 0 },
            kind,
        })
    }

    /// Its serial.
    #[inline]
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// Its device file.
    #[inline]
    pub(super) fn file(&self) -> FileIndex {
        self.file
    }

    /// Its object.
    #[inline]
    pub(super) fn generation(&self) -> Option<Generation> {
        (self.generation != NOT_KNOWN).then_some(Generation(self.generation))
    }

    /// Whether it is live, and an import of an object of `kind`. For a PD, whose unimport reads the context, only one whose
    /// context is open.
    #[inline]
    pub(super) fn is_live_import_of(&self, kind: Kind) -> bool {
        let closed = if kind == Kind::Pd { CONTEXT_CLOSED } else { 0 };
        self.kind == kind && self.flags & (STATE | IMPORTED | closed) == number(State::Live) | IMPORTED
    }

    /// Ends it at `site`.
    #[inline]
    pub(super) fn end(&mut self, end: End, site: Site) {
        self.flags = self.flags & !STATE | number(State::Released(end));
        self.ended = site;
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    fn state(&self) -> State {
        STATES[usize::from(self.flags & STATE).min(STATES.len() - 1)]
    }

    #[inline(always)]
    fn open(&self) -> Reference {
        let [a, b, c, d, e, f] = self.size;
        Reference {
            serial: self.serial,
            generation: self.generation(),
            second_id: self.has(HAS_SECOND).then_some(self.second_id),
            state: self.state(),
            context: self.context,
            context_closed: self.has(CONTEXT_CLOSED),
            inherited: self.has(INHERITED),
            ignored: self.has(IGNORED),
            size: u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
            ended: self.ended,
            ..Reference::new(
                self.kind,
                self.file,
                self.handle,
                if self.has(IMPORTED) { Origin::Imported } else { Origin::Owned },
                Mark { site: self.born, time: self.born_at },
            )
        }
    }
}

impl Kept {
    /// Packs a thing.
    #[inline(always)]
    pub(super) fn of(thing: Thing) -> Kept {
        match thing {
            Thing::Reference(reference) => match Plain::of(&reference) {
                Some(plain) => Kept::Plain(plain),
                None => Kept::Whole(Box::new(reference)),
            },
            Thing::Child(child) => Kept::Child(Box::new(child)),
        }
    }

    /// A copy of the thing.
    #[inline(always)]
    pub(super) fn open(&self) -> Thing {
        match self {
            Kept::Plain(plain) => Thing::Reference(plain.open()),
            Kept::Whole(reference) => Thing::Reference(Reference::clone(reference)),
            Kept::Child(child) => Thing::Child(Child::clone(child)),
        }
    }

    /// The reference with nothing unusual about it, if it is one.
    #[inline]
    pub(super) fn plain_mut(&mut self) -> Option<&mut Plain> {
        match self {
            Kept::Plain(plain) => Some(plain),
            Kept::Whole(_) | Kept::Child(_) => None,
        }
    }

    /// The reference, if it is one.
    #[inline(always)]
    pub(super) fn reference(&self) -> Option<Reference> {
        match self {
            Kept::Plain(plain) => Some(plain.open()),
            Kept::Whole(reference) => Some(Reference::clone(reference)),
            Kept::Child(_) => None,
        }
    }

    /// Changes the reference, if it is one.
    pub(super) fn change<R>(&mut self, change: impl FnOnce(&mut Reference) -> R) -> Option<R> {
        match self {
            Kept::Plain(plain) => {
                let mut reference = plain.open();
                let answer = change(&mut reference);
                *self = Kept::of(Thing::Reference(reference));
                Some(answer)
            }
            Kept::Whole(reference) => {
                let answer = change(reference);
                if let Some(plain) = Plain::of(reference) {
                    *self = Kept::Plain(plain);
                }
                Some(answer)
            }
            Kept::Child(_) => None,
        }
    }

    /// Its serial.
    #[inline]
    pub(super) fn serial(&self) -> u64 {
        match self {
            Kept::Plain(plain) => plain.serial,
            Kept::Whole(reference) => reference.serial,
            Kept::Child(child) => child.serial,
        }
    }

    /// A reference that has ended.
    #[inline]
    pub(super) fn is_dead(&self) -> bool {
        match self {
            Kept::Plain(plain) => matches!(plain.state(), State::Released(_)),
            Kept::Whole(reference) => !reference.is_live(),
            Kept::Child(_) => false,
        }
    }

    /// Where a reference stands from now on.
    #[inline]
    pub(super) fn set_state(&mut self, state: State) {
        match self {
            Kept::Plain(plain) => plain.flags = plain.flags & !STATE | number(state),
            Kept::Whole(reference) => reference.state = state,
            Kept::Child(_) => {}
        }
    }

    /// Ends a reference at `site`.
    #[inline]
    pub(super) fn end(&mut self, end: End, site: Site) {
        match self {
            Kept::Plain(plain) => plain.end(end, site),
            Kept::Whole(reference) => {
                reference.state = State::Released(end);
                reference.ended = site;
            }
            Kept::Child(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Reference {
        Reference {
            serial: 1 << 40,
            generation: Some(Generation(0)),
            second_id: Some(0),
            context: ContextId(7),
            size: (1 << 48) - 1,
            ended: Site(9),
            ..Reference::new(Kind::Umem, FileIndex(3), 5, Origin::Imported, Mark { site: Site(4), time: 1 << 60 })
        }
    }

    fn there_and_back(reference: &Reference) -> (bool, Reference) {
        let kept = Kept::of(Thing::Reference(reference.clone()));
        (matches!(kept, Kept::Plain(_)), kept.reference().expect("a reference"))
    }

    #[test]
    fn a_plain_reference_is_kept_small_and_whole() {
        let of = [
            plain(),
            Reference { generation: None, second_id: None, size: 0, ..plain() },
            Reference { origin: Origin::Owned, kind: Kind::Pd, context_closed: true, ..plain() },
            Reference { inherited: true, ..plain() },
            Reference { ignored: true, ..plain() },
        ];
        let states = STATES.map(|state| Reference { state, ..plain() });
        for reference in of.into_iter().chain(states) {
            let (small, back) = there_and_back(&reference);
            assert!(small, "{reference:?}");
            assert_eq!(format!("{back:?}"), format!("{reference:?}"));
        }
    }

    #[test]
    fn nothing_unusual_is_lost() {
        let failure = Some(super::super::Failure { errno: 16, mark: Mark::default(), told: false });
        for reference in [
            Reference { children: 1, ..plain() },
            Reference { parent_domains: 1, ..plain() },
            Reference { fatal_children: 1, ..plain() },
            Reference { unwatched: true, ..plain() },
            Reference { pdn_given: true, ..plain() },
            Reference { busy_told: true, ..plain() },
            Reference { size: 1 << 48, ..plain() },
            Reference { failure, ..plain() },
            Reference { name: Some("x".into()), ..plain() },
        ] {
            let (small, back) = there_and_back(&reference);
            assert!(!small, "{reference:?}");
            assert_eq!(format!("{back:?}"), format!("{reference:?}"));
        }
    }

    #[test]
    fn what_changes_is_kept_as_small_as_it_can_be() {
        let mut kept = Kept::of(Thing::Reference(plain()));
        for (children, is_small) in [(0, true), (1, false), (2, false), (0, true)] {
            kept.change(|reference| reference.children = children);
            assert_eq!(matches!(kept, Kept::Plain(_)), is_small);
            assert_eq!(
                kept.reference().map(|now| format!("{now:?}")),
                Some(format!("{:?}", Reference { children, ..plain() }))
            );
        }
    }

    #[test]
    fn a_state_is_changed_in_place() {
        for reference in [plain(), Reference { children: 1, ..plain() }] {
            let mut kept = Kept::of(Thing::Reference(reference.clone()));
            kept.set_state(State::Dying(End::Destroy));
            assert_eq!(kept.reference().map(|now| now.state), Some(State::Dying(End::Destroy)));
            assert!(!kept.is_dead());
            kept.end(End::Unimport, Site(77));
            let expected = Reference { state: State::Released(End::Unimport), ended: Site(77), ..reference };
            assert_eq!(kept.reference().map(|now| format!("{now:?}")), Some(format!("{expected:?}")));
            assert!(kept.is_dead());
        }
    }
}
