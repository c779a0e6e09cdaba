//! What a check found: one rule, one call, the objects and the places it concerns.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Severity};
use crate::site::{Resolve, Trace};

/// What was done with the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The real library was called.
    #[default]
    Forwarded,
    /// The call failed the way the function itself fails; the real library was not called.
    Refused,
    /// The process is about to end by `abort()`.
    Aborted,
}

/// One process's part in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Allocated or registered it.
    Owner,
    /// Imported it.
    Importer,
    /// Got it by fork.
    Heir,
    /// A process that ran unguarded, or whose part was not seen.
    Unknown,
}

/// Where a holder's reference stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HolderState {
    /// The reference is live.
    Holds,
    /// Ended by unimport.
    Released,
    /// Ended by destroying the object.
    Destroyed,
    /// The process ended without releasing it.
    Gone,
    /// Nothing is known.
    Unknown,
}

/// A process that holds or held an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderInfo {
    /// Process id, in the namespace of the process that reports.
    pub pid: u32,
    /// Command name; empty where it is not known.
    pub comm: String,
    /// Its part.
    pub role: Role,
    /// Where its reference stands.
    pub state: HolderState,
    /// How long ago the reference was born; only the text report shows it.
    #[serde(skip)]
    pub age: Option<Duration>,
}

/// What a reference came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// By alloc or create.
    Allocated,
    /// By a registration.
    Registered,
    /// By an import.
    Imported,
    /// By fork.
    Inherited,
    /// By opening a device.
    Opened,
    /// Met for the first time when it was used: its birth was not seen.
    Adopted,
}

impl Origin {
    /// The word that reports use: "imported".
    pub const fn word(self) -> &'static str {
        match self {
            Origin::Allocated => "allocated",
            Origin::Registered => "registered",
            Origin::Imported => "imported",
            Origin::Inherited => "inherited",
            Origin::Opened => "opened",
            Origin::Adopted => "adopted",
        }
    }
}

/// An object as a report names it. The first one of a finding is the one that the call was about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// Its type, as users call it: "pd", "umem", "context", "mr", "parent domain".
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The local struct's address; 0 where there is none.
    #[serde(skip)]
    pub address: u64,
    /// The kernel's number for it in its device file.
    pub handle: Option<u32>,
    /// A UMEM's firmware id.
    pub umem_id: Option<u32>,
    /// The number by which the device knows a child: a QP's, an MR's lkey, an MW's rkey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// What that number is called.
    #[serde(skip)]
    pub number_word: Option<&'static str>,
    /// Device name ("mlx5_0").
    pub device: Option<String>,
    /// The device file's identity, as `verbsguard ps` shows it.
    pub file: Option<String>,
    /// What this process's reference came from.
    pub origin: Option<Origin>,
    /// The name given by `verbsguard_name()`.
    pub name: Option<String>,
    /// Who else holds or held it.
    pub holders: Vec<HolderInfo>,
    /// Where a child was made. The place of the object that the finding is about stands in its stacks.
    #[serde(default, skip_serializing_if = "Trace::is_empty")]
    pub created: Trace,
}

/// `pd "model" 0x55d0c0de (handle 3 of mlx5_0, device file 7f3a)`, without the parts that are not known.
impl fmt::Display for ObjectInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(name) = &self.name {
            write!(f, " \"{name}\"")?;
        }
        if self.address != 0 {
            write!(f, " {:#x}", self.address)?;
        }
        let parts = [self.number(), self.file.as_ref().map(|file| format!("device file {file}"))];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            write!(f, " ({})", parts.join(", "))?;
        }
        Ok(())
    }
}

impl ObjectInfo {
    /// "handle 3, umem id 7 of mlx5_0".
    fn number(&self) -> Option<String> {
        let handle = self.handle.map(|handle| format!("handle {handle}"));
        let umem_id = self.umem_id.map(|id| format!("umem id {id}"));
        let other = self.number.and_then(|number| Some(format!("{} {number:#x}", self.number_word?)));
        let number: Vec<_> = [handle, umem_id, other].into_iter().flatten().collect();
        match (number.is_empty(), &self.device) {
            (true, None) => None,
            (true, Some(device)) => Some(format!("of {device}")),
            (false, None) => Some(number.join(", ")),
            (false, Some(device)) => Some(format!("{} of {device}", number.join(", "))),
        }
    }
}

/// The places that a finding names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Where it happened.
    pub here: Trace,
    /// Where the first object's reference was born.
    pub created: Trace,
    /// Where it was released.
    pub released: Trace,
    /// Where the kernel object was destroyed.
    pub destroyed: Trace,
}

/// When and where a line was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Wall clock.
    #[serde(with = "crate::report::rfc3339")]
    pub time: SystemTime,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Command name.
    pub comm: String,
    /// Host name.
    pub host: String,
}

impl Default for Stamp {
    fn default() -> Self {
        Stamp { time: SystemTime::UNIX_EPOCH, pid: 0, tid: 0, comm: String::new(), host: String::new() }
    }
}

/// One finding. Checks make it with [`Finding::new`]; the reporter adds stamp and repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// When and where.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// How grave; the rule's own severity unless the check knew better.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The function that was called; for leak reports what set them off (`exit`, `verbsguard_check_leaks`).
    pub function: Cow<'static, str>,
    /// The argument's name in the manual page.
    pub argument: Option<Cow<'static, str>>,
    /// One sentence, without full stop, that names the object and what is wrong.
    pub message: String,
    /// What was done with the call.
    pub action: Action,
    /// How many times this rule has fired at this call site so far, this one included.
    pub repeat: u64,
    /// The objects, the one that the call was about first.
    pub objects: Vec<ObjectInfo>,
    /// The places.
    pub stacks: Stacks,
    /// The manual page.
    pub page: Cow<'static, str>,
    /// How many objects a leak finding stands for: `objects` lists the first of them only. 0 for other rules.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub count: u64,
}

impl Finding {
    /// A finding with the rule's own severity and page, forwarded, and nothing else.
    pub fn new(rule: Rule, function: &'static str, message: impl Into<String>) -> Self {
        Finding {
            stamp: Stamp::default(),
            severity: rule.severity(),
            rule,
            function: function.into(),
            argument: None,
            message: message.into(),
            action: Action::Forwarded,
            repeat: 1,
            objects: Vec::new(),
            stacks: Stacks::default(),
            page: rule.page_for(function),
            count: 0,
        }
    }

    /// With another severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// With the name of the argument that is wrong.
    pub fn argument(mut self, name: &'static str) -> Self {
        self.argument = Some(name.into());
        self
    }

    /// With one more object.
    pub fn object(mut self, object: ObjectInfo) -> Self {
        self.objects.push(object);
        self
    }

    /// With its places.
    pub fn stacks(mut self, stacks: Stacks) -> Self {
        self.stacks = stacks;
        self
    }

    /// How many objects it gives up as lost, for the closing line.
    pub fn lost(&self) -> u64 {
        let gives_up = matches!(self.rule, Rule::ObjectOrphaned | Rule::ReferenceLost);
        if gives_up && self.severity != Severity::Note { self.count } else { 0 }
    }

    /// Gives its places their names.
    pub fn resolve(&mut self, resolver: &dyn Resolve) {
        let Stacks { here, created, released, destroyed } = &mut self.stacks;
        [here, created, released, destroyed].into_iter().for_each(|trace| trace.resolve(resolver));
        self.objects.iter_mut().for_each(|object| object.created.resolve(resolver));
    }
}

/// serde asks by reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
