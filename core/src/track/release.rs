//! Ending references.

use std::time::{Duration, Instant};

use super::children::ended_unseen;
use super::patience::read;
use super::{
    ChildKind, End, Failure, FileIndex, Here, Mark, Origin, Reference, State, Subject, Thing, Tracker, Verdict, World,
};
use crate::check::{self, Fault, ReleaseView, errno};
use crate::ledger::{Generation, How, Kind};
use crate::rules::{Rule, Severity};

/// How long a second release waits for the outcome of the first one before it is forwarded without a claim.
const RACE_PATIENCE: Duration = Duration::from_secs(2);

/// A release under way.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseToken {
    address: usize,
    serial: u64,
    kind: Kind,
    file: FileIndex,
    handle: u32,
    generation: Option<Generation>,
    origin: Origin,
    /// What a destroy will hit: whatever has the handle when it is made, which need not be what the reference meant.
    victim: Option<Generation>,
    end: End,
    others: bool,
}

impl ReleaseToken {
    /// What the manual page calls the argument.
    pub fn argument(&self) -> &'static str {
        crate::describe::noun(self.kind)
    }
}

/// What one look at the address gave.
enum Look {
    Done(Verdict<ReleaseToken>),
    /// Another thread is ending this very reference: its outcome decides.
    Wait,
    /// Nothing is known there.
    Unknown,
}

/// How a release that the real library took ended.
enum Ended {
    /// The provider did nothing.
    Ignored(Subject),
    /// The reference as it was, if it still stood there and others share its object.
    Done(Option<Box<Reference>>),
}

impl Tracker {
    /// Before `end` of the reference to a `kind` at `address`: records it at once, if the call cannot fail and there is
    /// nothing to say about it. So it is with nearly every unimport, which only frees a struct.
    #[inline(always)]
    pub fn end_at_once(&self, address: usize, kind: Kind, end: End, here: &dyn Here) -> bool {
        end == End::Unimport && self.end_import(address, kind, here)
    }

    fn end_import(&self, address: usize, kind: Kind, here: &dyn Here) -> bool {
        let site = here.site();
        let Some(ended) = self.table.at(address).end_import(address, kind, site) else { return false };
        if let Some(file) = self.file(ended.file()) {
            file.released((ended.serial(), ended.generation()), Origin::Imported, How::Unimported, here);
        }
        true
    }

    /// Before `end` of the reference to a `kind` at `address`. An address never seen is forwarded: it proves nothing.
    pub fn begin_release(
        &self,
        address: usize,
        kind: Kind,
        end: End,
        here: &dyn Here,
        world: &dyn World,
    ) -> Verdict<ReleaseToken> {
        match self.look(address, kind, end, here, world) {
            Look::Done(verdict) => verdict,
            Look::Unknown => self.release_of_unknown(address),
            Look::Wait => self.begin_racing_release(address, kind, end, here, world),
        }
    }

    /// Waits for the outcome of the other thread's release.
    #[cold]
    fn begin_racing_release(
        &self,
        address: usize,
        kind: Kind,
        end: End,
        here: &dyn Here,
        world: &dyn World,
    ) -> Verdict<ReleaseToken> {
        let since = Instant::now();
        loop {
            match self.look(address, kind, end, here, world) {
                Look::Done(verdict) => return verdict,
                Look::Unknown => return self.release_of_unknown(address),
                Look::Wait if since.elapsed() > RACE_PATIENCE => return Verdict::forward(None),
                // A sleep would end a thread that is being cancelled.
                Look::Wait => std::thread::yield_now(),
            }
        }
    }

    #[inline(always)]
    fn look(&self, address: usize, kind: Kind, end: End, here: &dyn Here, world: &dyn World) -> Look {
        let mut shard = self.table.at(address);
        let thing = shard.get(address);
        let reference = match &thing {
            None => return Look::Unknown,
            Some(Thing::Child(child)) => {
                drop(shard);
                let wrong = child.kind != ChildKind::ParentDomain || end == End::Unimport;
                let faults = if wrong { vec![Fault::refused(Rule::WrongKind, errno::EINVAL)] } else { Vec::new() };
                let subject = || Subject::Child(address, Box::new(child.clone()));
                return Look::Done(self.verdict(faults, subject, || None));
            }
            Some(Thing::Reference(reference)) => reference,
        };
        if reference.kind != kind && reference.is_live() {
            let faults = vec![Fault::refused(Rule::WrongKind, errno::EINVAL)];
            let subject = || Subject::Reference(address, Box::new(reference.clone()));
            return Look::Done(self.verdict(faults, subject, || None));
        }
        match reference.state {
            State::Dying(_) if self.policy.waits_for_racing_release() => return Look::Wait,
            State::Dying(_) => return Look::Done(Verdict::forward(None)),
            State::Live if ended_unseen(reference, address, world) => {
                let serial = reference.serial;
                shard.take(address, serial);
                return Look::Unknown;
            }
            State::Released(_) if self.is_reborn(reference, address, world) => {
                let serial = reference.serial;
                shard.take(address, serial);
                return Look::Unknown;
            }
            State::Live | State::Released(_) => {}
        }
        let (view, victim) = self.release_view(reference, end, world);
        let others = view.others;
        let faults = check::release(&view, end);
        let is_live = reference.is_live();
        let subject = || Subject::Reference(address, Box::new(reference.clone()));
        let verdict = self.verdict(faults, subject, || {
            is_live.then_some(ReleaseToken {
                address,
                serial: reference.serial,
                kind,
                file: reference.file,
                handle: reference.handle,
                generation: reference.generation,
                origin: reference.origin,
                victim,
                end,
                others,
            })
        });
        if let Ok(Some(token)) = verdict.outcome {
            // Recorded before the call: the address and the handle may be another thread's as soon as it is made.
            shard.set_state(address, token.serial, State::Dying(end));
            if verdict.faults.iter().any(|(fault, _)| fault.rule == Rule::PdUnimportBusy) {
                shard.change(address, token.serial, |reference| reference.busy_told = true);
            }
            self.announce(&token, here);
        }
        Look::Done(verdict)
    }

    /// What the judgement reads, and what a destroy would hit.
    fn release_view<'a>(
        &self,
        reference: &'a Reference,
        end: End,
        world: &dyn World,
    ) -> (ReleaseView<'a>, Option<Generation>) {
        // What became of the object and who else there is matters to a destroy, and to giving up what one owns.
        let gives_up = end == End::Unimport && reference.origin == Origin::Owned;
        let Reference { kind, handle, generation, .. } = *reference;
        let (mut fate, mut others, mut victim) = (check::Fate::Unknown, false, None);
        match (self.file(reference.file), generation) {
            (Some(file), Some(generation)) if end == End::Destroy || gives_up => {
                let standing = file.standing(kind, handle, generation);
                // Seldom: what one gives up and nobody is known to have, somebody who does not tell may have.
                let untold = || gives_up && standing.fate == check::Fate::Alive && !world.tells_everyone(file);
                (fate, others, victim) = (standing.fate, standing.others || untold(), standing.present);
            }
            (Some(file), None) => victim = file.current(kind, handle).filter(|now| now.alive).map(|now| now.generation),
            _ => {}
        }
        let victim = victim.filter(|_| end == End::Destroy);
        (ReleaseView { reference, fate, others, fatal_children: reference.fatal_children > 0 }, victim)
    }

    /// The address of a live context, given where a PD or UMEM belongs.
    fn release_of_unknown(&self, address: usize) -> Verdict<ReleaseToken> {
        let contexts = read(&self.contexts);
        let Some(context) = contexts.get(address).filter(|context| context.is_open()) else {
            return Verdict::forward(None);
        };
        let faults = vec![Fault::refused(Rule::WrongKind, errno::EINVAL)];
        self.verdict(faults, || Subject::Context(address, Box::new(context.clone())), || None)
    }

    pub(super) fn is_reborn(&self, reference: &Reference, address: usize, world: &dyn World) -> bool {
        world.is_reborn(reference, address, &|context| self.is_open_context(context))
    }

    fn announce(&self, token: &ReleaseToken, here: &dyn Here) {
        if let (Some(victim), Some(file)) = (token.victim, self.file(token.file)) {
            file.dying(token.kind, token.handle, victim, here.mark());
        }
    }

    /// After the real call answered `error` (0: done).
    pub fn finish_release(
        &self,
        token: ReleaseToken,
        error: i32,
        mark: Mark,
        world: &dyn World,
    ) -> Vec<(Fault, Subject)> {
        let file = self.file(token.file);
        if error != 0 {
            return self.roll_back(token, error, mark);
        }
        let ended = match self.end_reference(&token, mark, world) {
            Ended::Ignored(subject) => {
                let fault = Fault::forwarded(Rule::UnimportFailedSilently, Severity::Warning);
                return self.counted(vec![(fault, subject)]);
            }
            Ended::Done(reference) => reference,
        };
        let Some(file) = file else { return Vec::new() };
        let named = (token.serial, token.generation);
        match token.victim {
            Some(victim) => {
                file.destroyed_and_released((token.kind, token.handle, victim), named, token.origin, mark);
            }
            None => file.released(named, token.origin, how(token.end), &mark),
        }
        match ended {
            Some(reference) => {
                let rule = match token.kind {
                    Kind::Pd => Rule::PdDestroyedWhileShared,
                    Kind::Umem => Rule::UmemDestroyedWhileShared,
                };
                let subject = Subject::Reference(token.address, reference);
                self.counted(vec![(Fault::forwarded(rule, Severity::Note), subject)])
            }
            None => Vec::new(),
        }
    }

    /// Marks the reference as released, unless the provider ignored the call.
    fn end_reference(&self, token: &ReleaseToken, mark: Mark, world: &dyn World) -> Ended {
        let mut shard = self.table.at(token.address);
        let Some(reference) = shard.reference(token.address).filter(|now| now.serial == token.serial) else {
            return Ended::Done(None);
        };
        if token.end == End::Unimport && reference.parent_domains > 0 && world.is_intact(&reference, token.address) {
            shard.set_state(token.address, token.serial, State::Live);
            return Ended::Ignored(Subject::Reference(token.address, Box::new(reference)));
        }
        shard.end(token.address, token.serial, token.end, mark.site);
        let shared = token.end == End::Destroy && token.others;
        Ended::Done(
            shared.then(|| Box::new(Reference { state: State::Released(token.end), ended: mark.site, ..reference })),
        )
    }

    fn roll_back(&self, token: ReleaseToken, error: i32, mark: Mark) -> Vec<(Fault, Subject)> {
        if let (Some(victim), Some(file)) = (token.victim, self.file(token.file)) {
            file.revived(token.kind, token.handle, victim);
        }
        self.table.at(token.address).set_state(token.address, token.serial, State::Live);
        let Some(file) = self.file(token.file) else { return Vec::new() };
        if file.note_errno(error) || file.is_gone() {
            return Vec::new();
        }
        if let (errno::ENOENT, Some(generation)) = (error, token.generation) {
            // Nothing has this handle: the object went where nobody saw it.
            file.vanished(token.kind, token.handle, generation, mark);
        }
        let failed = |reference: &mut Reference| {
            reference.failure = Some(Failure { errno: error, mark, told: false });
            Box::new(reference.clone())
        };
        let Some(reference) = self.table.at(token.address).change(token.address, token.serial, failed) else {
            return Vec::new();
        };
        let rule = match token.kind {
            Kind::Pd if error == errno::EBUSY => Rule::PdDeallocBusy,
            Kind::Umem => Rule::UmemDeregFailed,
            Kind::Pd => return Vec::new(),
        };
        let subject = Subject::Reference(token.address, reference);
        self.counted(vec![(Fault::forwarded(rule, Severity::Note), subject)])
    }

    /// What counts of faults that were found after the call, when nothing can be refused any more.
    pub(super) fn counted(&self, faults: Vec<(Fault, Subject)>) -> Vec<(Fault, Subject)> {
        faults
            .into_iter()
            .flat_map(|(fault, subject)| self.policy.apply(vec![fault]).into_iter().map(move |f| (f, subject.clone())))
            .collect()
    }
}

fn how(end: End) -> How {
    match end {
        End::Destroy => How::Destroyed,
        End::Unimport => How::Unimported,
    }
}
