//! From a judgement to a finding: the sentence, the objects and the places.

mod children;

use std::time::Duration;

use crate::check::Fault;
use crate::finding::{Action, Finding, ObjectInfo, Origin as Came, Stacks};
use crate::ledger::Kind;
use crate::report::Age;
use crate::rules::{Rule, Severity};
use crate::site::{Site, Trace};
use crate::track::{
    Child, Clue, Context, ContextOrigin, Death, End, FileIndex, HolderFacts, Holders, Live, Lost, LostExample, Moment,
    Origin, Reference, State, Subject, Tracker,
};

/// The call that a finding is about.
#[derive(Clone, Copy, Debug)]
pub struct CallInfo {
    /// Its name.
    pub function: &'static str,
    /// The argument that is wrong, as the manual page names it.
    pub argument: Option<&'static str>,
    /// Its stack.
    pub here: Site,
    /// Now, in nanoseconds since 1970.
    pub now: u64,
}

/// At most this many things are listed in a sentence.
const LISTED: usize = 8;

impl Tracker {
    /// Tells `fault` about `subject` in words.
    pub fn describe(&self, call: CallInfo, fault: &Fault, subject: &Subject, action: Action) -> Finding {
        let mut finding = match subject {
            Subject::Argument(message) => Finding::new(fault.rule, call.function, message.clone()),
            Subject::Elsewhere(clue) => about_elsewhere(call, fault, clue),
            Subject::Context(address, context) => self.about_context(call, fault, *address, context),
            Subject::Child(address, child) => self.about_child(call, fault, *address, child),
            Subject::Left(address, context, left) => self.about_left(call, fault, (*address, context), left),
            Subject::Reference(address, reference) => self.about_reference(call, fault, *address, reference),
        };
        finding.severity = fault.severity;
        finding.action = action;
        finding.argument = call.argument.map(Into::into);
        finding.stacks.here = call.here.into();
        finding
    }

    fn about_context(&self, call: CallInfo, fault: &Fault, address: usize, context: &Context) -> Finding {
        let object = self.context_info(address, context);
        let message = match fault.rule {
            Rule::ContextClosed => format!("{object} was closed by ibv_close_device"),
            Rule::ContextClosedTwice => format!("{object} was already closed by ibv_close_device"),
            Rule::FdImportedWithoutDup => format!(
                "descriptor {} is the cmd_fd of {object}: closing either context closes it under the other; \
                 import a dup of it",
                context.cmd_fd
            ),
            Rule::InheritedContextClosed => format!(
                "{object} was inherited by fork: closing it here frees what the parent still uses; \
                 only exit or exec in the child"
            ),
            _ => format!("{object} is a context, and {} takes another object here", call.function),
        };
        let mut finding = Finding::new(fault.rule, call.function, message).object(object);
        finding.stacks = stacks(context.born.site, context.closed.site, Site::NONE);
        finding
    }

    fn about_reference(&self, call: CallInfo, fault: &Fault, address: usize, reference: &Reference) -> Finding {
        let object = self.reference_info(address, reference, call.now);
        let death = self.death_of(reference);
        let message = self.sentence(call, fault, (address, reference), &object, death.as_ref());
        let mut finding = Finding::new(fault.rule, call.function, message).object(object);
        finding.stacks = stacks(reference.born.site, reference.ended, Site::NONE);
        if let Some(death) = death {
            finding.stacks.destroyed = death.trace;
        }
        finding.objects.extend(self.children_told(fault.rule, address, reference));
        finding
    }

    fn sentence(
        &self,
        call: CallInfo,
        fault: &Fault,
        (address, reference): (usize, &Reference),
        object: &ObjectInfo,
        death: Option<&Death>,
    ) -> String {
        let by = match reference.state {
            State::Released(end) | State::Dying(end) => end.function(reference.kind),
            State::Live => "",
        };
        let killed = death.map_or_else(|| "elsewhere".to_owned(), |death| death.in_words(call.now));
        match fault.rule {
            Rule::PdReleasedTwice | Rule::UmemReleasedTwice => format!("{object} was already released by {by}"),
            Rule::PdUsedAfterRelease | Rule::UmemUsedAfterRelease => format!("{object} was released by {by} before"),
            Rule::PdUsedAfterDestroy | Rule::UmemUsedAfterDestroy => {
                format!("{object}: the kernel object was destroyed {killed}; all that is left to do is unimport")
            }
            Rule::PdDestroyedElsewhere | Rule::UmemDestroyedElsewhere if fault.severity == Severity::Error => format!(
                "{object}: the kernel object was destroyed {killed}, and its handle now belongs to another live {}, \
                 which this call would destroy; unimport instead",
                noun(reference.kind)
            ),
            Rule::PdDestroyedElsewhere | Rule::UmemDestroyedElsewhere => {
                format!("{object}: the kernel object was destroyed {killed}; unimport is what ends this reference")
            }
            Rule::ContextClosed => format!("{object}: the context it was made in is closed"),
            Rule::PdUnimportBusy => self.busy_sentence(address, reference, object),
            Rule::UnimportOfOwned => given_up(fault.severity, reference, object),
            Rule::UnimportFailedSilently => format!(
                "{object} was not unimported: the provider ignores the call while a parent domain is on the PD; \
                 deallocate that first, then unimport again"
            ),
            Rule::WrongKind => {
                format!("{object} is a {}, and {} takes another object here", noun(reference.kind), call.function)
            }
            Rule::PdDestroyedWhileShared | Rule::UmemDestroyedWhileShared => {
                format!("{object} was destroyed while others hold it: they may only unimport it from here on")
            }
            Rule::PdDeallocBusy | Rule::UmemDeregFailed => {
                self.failure_sentence(reference, &self.children_on(reference), object)
            }
            Rule::PdHandleMismatch => format!(
                "{object}: the import succeeded, but its pdn is not that of the PD known under this handle: a wrong \
                 device file, or a handle that was reused"
            ),
            Rule::ImportOfOwn => format!("{object}: the context that imports it owns the object"),
            _ => format!("{object}"),
        }
    }

    fn failure_sentence(&self, reference: &Reference, children: &[(usize, Child)], object: &ObjectInfo) -> String {
        let Some(failure) = reference.failure else { return format!("{object}: the destroy failed") };
        let function = End::Destroy.function(reference.kind);
        let error = errno_name(failure.errno);
        let why = if reference.kind == Kind::Pd { self.who_keeps(reference, children) } else { String::new() };
        format!("{object}: {function} failed with {error}, so the reference still has to be ended{why}")
    }

    fn birth_of(&self, reference: &Reference) -> Option<(Option<HolderFacts>, Trace)> {
        self.file(reference.file)?.birth(reference.generation?)
    }

    /// Groups of lost things, each as one finding.
    pub fn describe_lost(&self, call: CallInfo, lost: &[Lost], moment: Moment) -> impl Iterator<Item = Finding> {
        let holders = self.holders(lost.iter().flat_map(|lost| &lost.examples).map(|example| &example.reference));
        lost.iter().map(move |lost| self.describe_group(call, lost, &holders, moment))
    }

    fn describe_group(&self, call: CallInfo, lost: &Lost, holders: &Holders, moment: Moment) -> Finding {
        let example = &lost.examples[0];
        let info = |example: &LostExample| self.info(example.address, &example.reference, holders, call.now);
        let objects: Vec<_> = lost.examples.iter().map(info).collect();
        let birth = lost.maker.and_then(|_| self.birth_of(&example.reference));
        let message = if matches!(lost.fault.rule, Rule::PdDeallocBusy | Rule::UmemDeregFailed) && lost.count == 1 {
            self.failure_sentence(&example.reference, &example.children, &objects[0])
        } else {
            lost_sentence(lost, &objects[0], came(&example.reference), moment)
        };
        let message = match &birth {
            Some((Some(who), _)) => format!("{message}; {who} made it"),
            _ => message,
        };
        let mut finding = Finding::new(lost.fault.rule, call.function, message);
        finding.severity = lost.fault.severity;
        finding.objects = objects;
        finding.objects.extend(self.children_info(&example.children));
        finding.stacks = stacks(lost.site, example.reference.ended, Site::NONE);
        if lost.maker.is_some() {
            finding.stacks.created = birth.map(|(_, trace)| trace).unwrap_or_default();
        }
        finding.stacks.here = call.here.into();
        finding.count = lost.count;
        finding
    }

    /// Live things in words, one a line.
    pub fn lines(&self, live: &[Live], now: u64) -> impl Iterator<Item = String> {
        let holders = self.holders(live.iter().filter_map(|live| match live {
            Live::Reference(_, reference) => Some(reference),
            _ => None,
        }));
        live.iter().map(move |live| self.line(live, &holders, now))
    }

    fn line(&self, live: &Live, holders: &Holders, now: u64) -> String {
        let (object, born) = match live {
            Live::Context(address, context) => (self.context_info(*address, context), context.born),
            Live::Reference(address, reference) => (self.info(*address, reference, holders, now), reference.born),
            Live::Child(address, child) => (self.child_info(*address, child), child.born),
        };
        let origin = object.origin.map_or("made", Came::word);
        format!("{object}, {origin} {}", ago(now, born.time))
    }

    fn context_info(&self, address: usize, context: &Context) -> ObjectInfo {
        ObjectInfo {
            kind: "context".into(),
            address: address as u64,
            device: Some(context.device.to_string()),
            file: self.label(context.file),
            origin: Some(match context.origin {
                _ if context.inherited => Came::Inherited,
                ContextOrigin::Opened => Came::Opened,
                ContextOrigin::Imported => Came::Imported,
                ContextOrigin::Adopted => Came::Adopted,
            }),
            ..ObjectInfo::default()
        }
    }

    /// A reference as reports name it.
    pub fn reference_info(&self, address: usize, reference: &Reference, now: u64) -> ObjectInfo {
        self.info(address, reference, &self.holders([reference]), now)
    }

    fn info(&self, address: usize, reference: &Reference, holders: &Holders, now: u64) -> ObjectInfo {
        let context = self.context_by_id(reference.context).map(|(_, context)| context);
        ObjectInfo {
            kind: noun(reference.kind).into(),
            address: address as u64,
            handle: Some(reference.handle),
            umem_id: reference.second_id.filter(|_| reference.kind == Kind::Umem),
            device: context.map(|context| context.device.to_string()),
            file: self.label(reference.file),
            origin: Some(came(reference)),
            name: reference.name.as_deref().map(str::to_owned),
            holders: self.others(reference, holders, now),
            ..ObjectInfo::default()
        }
    }

    fn label(&self, file: FileIndex) -> Option<String> {
        self.file(file).map(|file| file.label.to_string())
    }
}

fn lost_sentence(lost: &Lost, first: &ObjectInfo, came: Came, moment: Moment) -> String {
    let many = match (lost.count, lost.bytes) {
        (1, 0) => format!("{first}"),
        (1, bytes) => format!("{first}, {bytes} bytes"),
        (count, 0) => format!("{count} {}s {} at one place, the first being {first}", noun(lost.kind), came.word()),
        (count, bytes) => {
            format!(
                "{count} {}s of {bytes} bytes {} at one place, the first being {first}",
                noun(lost.kind),
                came.word()
            )
        }
    };
    let what = match (lost.fault.rule, lost.fault.severity) {
        (Rule::ObjectOrphaned, Severity::Error) => {
            "the kernel object lives on and no reference to it is left: only the last close of the device file frees it"
        }
        (Rule::ObjectOrphaned, _) => {
            "the kernel object lives on and no known reference to it is left; unguarded processes may hold one"
        }
        (Rule::ReferenceLost, Severity::Error) => {
            "never released, and its context is closed: the kernel object lives on in a device file that stays open"
        }
        (Rule::ReferenceLost, _) if moment == Moment::Close => "never released before its context was closed",
        (Rule::ReferenceLost, _) => "never released after its context was closed, or after its destroy had failed",
        (Rule::LeftToOthers, _) => "not released by this process; other holders of the device file remain",
        (Rule::HeldAtExit, _) => "still held at exit: the kernel frees it with the device file",
        (Rule::PdDeallocBusy, _) => "ibv_dealloc_pd failed with EBUSY and was never followed by an end",
        _ => "the destroy failed and was never followed by an end",
    };
    format!("{many}: {what}")
}

fn about_elsewhere(call: CallInfo, fault: &Fault, clue: &Clue) -> Finding {
    let mut finding = Finding::new(fault.rule, call.function, clue.message.clone());
    finding.objects.extend(clue.object.clone());
    finding.stacks.created = clue.made.clone();
    finding.stacks.destroyed = clue.destroyed.clone();
    finding
}

/// An owner unimports: a hand-over, where somebody is there to take it.
fn given_up(severity: Severity, reference: &Reference, object: &ObjectInfo) -> String {
    let came = came(reference).word();
    let destroy = End::Destroy.function(reference.kind);
    if severity == Severity::Note {
        return format!(
            "{object} was {came} here and is left to whoever else has it, one of whom has to call {destroy}"
        );
    }
    format!(
        "{object} was {came} here: unimport frees the local struct and leaves the kernel object, which nobody else is \
         known to hold; {destroy} destroys it"
    )
}

fn list(items: &[String]) -> String {
    let rest = items.len().saturating_sub(LISTED);
    let shown = items[..items.len().min(LISTED)].join(", ");
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}

fn stacks(created: Site, released: Site, destroyed: Site) -> Stacks {
    Stacks { created: created.into(), released: released.into(), destroyed: destroyed.into(), ..Stacks::default() }
}

/// The word for a type.
pub fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Pd => "pd",
        Kind::Umem => "umem",
    }
}

fn came(reference: &Reference) -> Came {
    match (reference.origin, reference.kind) {
        _ if reference.inherited => Came::Inherited,
        (Origin::Imported, _) => Came::Imported,
        (Origin::Owned, Kind::Pd) => Came::Allocated,
        (Origin::Owned, Kind::Umem) => Came::Registered,
    }
}

/// "2.1 s ago".
pub fn ago(now: u64, then: u64) -> String {
    format!("{} ago", Age(Duration::from_nanos(now.saturating_sub(then))))
}

/// The name of an errno value that these calls answer, else its number.
pub fn errno_name(value: i32) -> String {
    let name = match value {
        1 => "EPERM",
        2 => "ENOENT",
        5 => "EIO",
        9 => "EBADF",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        28 => "ENOSPC",
        95 => "EOPNOTSUPP",
        _ => return format!("errno {value}"),
    };
    name.to_owned()
}
