//! What is kept while logs and ledgers go by: counts, and one example each; never the findings themselves.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::UNIX_EPOCH;

use serde::Serialize;
use verbsguard_core::finding::{Finding, Stamp};
use verbsguard_core::report::SCHEMA;
use verbsguard_core::rules::{Rule, Section, Severity};
use verbsguard_core::site::Frame;

/// A process, as a report names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Who {
    /// Host name.
    pub host: String,
    /// Process id there.
    pub pid: u32,
    /// Command name.
    pub comm: String,
}

impl From<&Stamp> for Who {
    fn from(stamp: &Stamp) -> Self {
        Who { host: stamp.host.clone(), pid: stamp.pid, comm: stamp.comm.clone() }
    }
}

/// What is counted together: a rule at a place, or leaks by where the objects were made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// How grave; the gravest are shown first.
    pub severity: Reverse<Severity>,
    /// The rule.
    pub rule: Rule,
    /// The object's type.
    pub object: String,
    /// The place, the innermost frame first.
    pub place: Vec<String>,
}

/// How often, and where.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// In all processes together.
    pub count: u64,
    /// By process.
    pub processes: BTreeMap<Who, u64>,
    /// The first one's words.
    pub message: String,
    /// The first one's stack.
    pub frames: Vec<Frame>,
}

/// One thing that is counted.
#[derive(Debug)]
pub struct Seen {
    /// How grave.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The object's type.
    pub object: String,
    /// Where it happened; of a leak, where the object was made.
    pub frames: Vec<Frame>,
    /// In which process.
    pub who: Who,
    /// How many.
    pub count: u64,
    /// What is wrong, in words.
    pub message: String,
}

/// Everything read so far.
#[derive(Debug, Default)]
pub struct Merged {
    /// Findings of other rules than leaks, by the place where they happened.
    pub findings: BTreeMap<Key, Group>,
    /// Leaks, by the place where the objects were made.
    pub leaks: BTreeMap<Key, Group>,
    /// Who was heard of.
    pub processes: BTreeSet<Who>,
    /// Log files read.
    pub logs: u64,
    /// Device files whose ledger was read.
    pub ledgers: u64,
    /// Lines that were no findings of a version that can be read.
    pub unread: u64,
    /// When what happened; only where it is asked for, since it grows with every finding.
    pub timeline: Option<Timeline>,
}

/// When what happened.
#[derive(Debug, Default)]
pub struct Timeline {
    /// What was found.
    pub moments: Vec<Moment>,
    /// Objects.
    pub lives: Vec<Life>,
}

/// Something that was found.
#[derive(Debug)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// In which process.
    pub who: Who,
    /// In which of its threads.
    pub tid: u32,
    /// How grave.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// How many objects it stands for, or 1.
    pub count: u64,
    /// What is wrong, in words.
    pub message: String,
}

/// An object of a ledger.
#[derive(Debug)]
pub struct Life {
    /// Who made it.
    pub who: Who,
    /// "pd 3".
    pub name: String,
    /// Its device file.
    pub file: String,
    /// Nanoseconds since 1970.
    pub began_ns: u64,
    /// The same, of its end.
    pub ended_ns: Option<u64>,
}

impl Merged {
    /// Counts a finding of a log.
    pub fn finding(&mut self, finding: Finding) {
        let who = Who::from(&finding.stamp);
        let object = finding.objects.first().map(|object| object.kind.clone().into_owned()).unwrap_or_default();
        let leak = finding.rule.section() == Section::Leaks;
        let trace = if leak { &finding.stacks.created } else { &finding.stacks.here };
        let frames = trace.frames().to_vec();
        let count = finding.count.max(1);
        let Finding { severity, rule, message, stamp, .. } = finding;
        if let Some(timeline) = &mut self.timeline {
            let time_ns = stamp.time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
            let (who, message) = (who.clone(), message.clone());
            timeline.moments.push(Moment { time_ns, who, tid: stamp.tid, severity, rule, count, message });
        }
        self.add(Seen { severity, rule, object, frames, who, count, message });
    }

    /// Counts something.
    pub fn add(&mut self, seen: Seen) {
        let Seen { severity, rule, object, frames, who, count, message } = seen;
        let place = frames.iter().map(Frame::to_string).collect();
        let key = Key { severity: Reverse(severity), rule, object, place };
        let groups = if rule.section() == Section::Leaks { &mut self.leaks } else { &mut self.findings };
        let group = groups.entry(key).or_insert_with(|| Group { message, frames, ..Group::default() });
        group.count += count;
        *group.processes.entry(who.clone()).or_default() += count;
        self.processes.insert(who);
    }

    /// All groups.
    pub fn groups(&self) -> impl Iterator<Item = (&Key, &Group)> {
        self.findings.iter().chain(&self.leaks)
    }

    /// What it was read from: "3 processes on 1 host, from 2 logs and 1 ledger".
    pub fn origin(&self) -> String {
        let hosts: BTreeSet<&str> = self.processes.iter().map(|who| who.host.as_str()).collect();
        let (processes, hosts) = (counted(self.processes.len() as u64, "process"), counted(hosts.len() as u64, "host"));
        let (logs, ledgers) = (counted(self.logs, "log"), counted(self.ledgers, "ledger"));
        let unread = match self.unread {
            0 => String::new(),
            unread => format!("\n{} could not be read as schema {SCHEMA}", counted(unread, "line")),
        };
        format!("{processes} on {hosts}, from {logs} and {ledgers}{unread}")
    }

    /// How many there are of a severity, leaks included.
    pub fn count(&self, severity: Severity) -> u64 {
        self.groups().filter(|(key, _)| key.severity.0 == severity).map(|(_, group)| group.count).sum()
    }

    /// All of it as JSON Lines: groups, and a last line with the totals.
    pub fn json(&self) -> io::Result<String> {
        let mut text = String::new();
        for (kind, groups) in [("finding-group", &self.findings), ("leak-group", &self.leaks)] {
            for (key, group) in groups {
                text += &serde_json::to_string(&GroupLine::new(kind, key, group))?;
                text.push('\n');
            }
        }
        let totals = Totals {
            schema: SCHEMA,
            kind: "report",
            processes: self.processes.len(),
            logs: self.logs,
            ledgers: self.ledgers,
            unread: self.unread,
            errors: self.count(Severity::Error),
            warnings: self.count(Severity::Warning),
        };
        Ok(text + &serde_json::to_string(&totals)? + "\n")
    }
}

#[derive(Serialize)]
struct GroupLine<'a> {
    schema: u32,
    kind: &'static str,
    severity: Severity,
    rule: &'static str,
    #[serde(rename = "type")]
    object: &'a str,
    count: u64,
    processes: Vec<ProcessCount<'a>>,
    message: &'a str,
    stack: &'a [Frame],
}

#[derive(Serialize)]
struct ProcessCount<'a> {
    #[serde(flatten)]
    who: &'a Who,
    count: u64,
}

impl<'a> GroupLine<'a> {
    fn new(kind: &'static str, key: &'a Key, group: &'a Group) -> Self {
        GroupLine {
            schema: SCHEMA,
            kind,
            severity: key.severity.0,
            rule: key.rule.id(),
            object: &key.object,
            count: group.count,
            processes: group.processes.iter().map(|(who, count)| ProcessCount { who, count: *count }).collect(),
            message: &group.message,
            stack: &group.frames,
        }
    }
}

#[derive(Serialize)]
struct Totals {
    schema: u32,
    kind: &'static str,
    processes: usize,
    logs: u64,
    ledgers: u64,
    unread: u64,
    errors: u64,
    warnings: u64,
}

/// "1 log", "2 logs".
pub fn counted(number: u64, noun: &str) -> String {
    match (number, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "process") => format!("{number} processes"),
        _ => format!("{number} {noun}s"),
    }
}
