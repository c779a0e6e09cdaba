//! From a judgement to the log: findings, leaks, the last lines.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::SystemTime;

use verbsguard_core::check::Fault;
use verbsguard_core::describe::CallInfo;
use verbsguard_core::finding::{Action, Finding, Stamp};
use verbsguard_core::options::Leaks;
use verbsguard_core::rules::Severity;
use verbsguard_core::site::Site;
use verbsguard_core::track::{ChildKind, Lost, Mark, Moment, Subject, patience};

use crate::abi::control::VerbsguardStats;
use crate::copies::Provider;
use crate::guard::Guard;
use crate::real::Named;
use crate::stacks;

impl Guard {
    /// Now and here. Taken once for each call.
    pub fn mark(&self) -> Mark {
        crate::call::mark()
    }

    fn call_info(&self, function: &'static str, argument: Option<&'static str>) -> CallInfo {
        let Mark { site, time } = self.mark();
        CallInfo { function, argument: argument.filter(|name| !name.is_empty()), here: site, now: time }
    }

    /// Reports one judgement on a call.
    pub fn report(
        &self,
        function: &dyn Named,
        argument: Option<&'static str>,
        fault: &Fault,
        subject: &Subject,
        refused: bool,
    ) {
        let aborts = self.aborts() && fault.severity == Severity::Error;
        let action = match refused {
            _ if aborts => Action::Aborted,
            true => Action::Refused,
            false => Action::Forwarded,
        };
        let call = self.call_info(function.name(), argument);
        self.emit(self.tracker.describe(call, fault, subject, action));
        if aborts {
            std::process::abort();
        }
    }

    /// Reports what was lost at some moment.
    pub fn tell_lost(&self, function: Option<&dyn Named>, lost: &[Lost]) {
        let (name, moment) = match function {
            Some(function) => (function.name(), Moment::Close),
            None => ("exit", Moment::Exit),
        };
        self.tell_lost_at(name, moment, lost);
    }

    /// The same, set off by something else.
    pub fn tell_lost_at(&self, name: &'static str, moment: Moment, lost: &[Lost]) {
        if self.options.leaks == Leaks::Off {
            return;
        }
        let mut call = self.call_info(name, None);
        if moment == Moment::Exit {
            call.here = Site::NONE;
        }
        for finding in self.tracker.describe_lost(call, lost, moment) {
            self.emit(finding);
        }
    }

    fn emit(&self, mut finding: Finding) {
        crate::call::shield();
        finding.stamp = self.stamp();
        if !self.reporter.prepare(&mut finding, &stacks::Resolver) {
            return;
        }
        let admitted = patience::lock(&self.tally).admit(&mut finding, self.options.limit);
        crate::abi::control::on_finding(&finding);
        if admitted && self.reporter.prints(finding.severity) {
            finding.resolve(&stacks::Resolver);
            self.log.write(&self.reporter.render(&finding));
        }
        if finding.severity == Severity::Error {
            crate::abi::control::verbsguard_on_error();
            if self.options.breakpoint {
                // SAFETY: raising a signal in this thread, as the user asked for.
                unsafe { libc::raise(libc::SIGTRAP) };
            }
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            time: SystemTime::now(),
            pid: self.tracker.me.pid,
            // SAFETY: gettid has no preconditions.
            tid: u32::try_from(unsafe { libc::gettid() }).unwrap_or(0),
            comm: self.tracker.me.comm.clone(),
            host: crate::log::host_name(),
        }
    }

    /// The last words of a process.
    pub fn report_end(&self) {
        let lost = self.tracker.lost_at_exit(self.options.leaks, &self.world);
        self.tell_lost(None, &lost);
        let summary = patience::lock(&self.tally).summary(self.stamp(), self.live_by_type(), calls_by_function());
        if self.options.verbose {
            self.tell_trouble();
            self.tell_gaps();
            self.tell_libraries();
        }
        if let Some(text) = self.reporter.render_end(&summary) {
            self.log.write(&text);
        }
    }

    /// For `verbsguard_get_stats`.
    pub fn stats(&self) -> VerbsguardStats {
        let totals = self.tracker.totals();
        let counted = patience::lock(&self.tally).summary(Stamp::default(), BTreeMap::new(), BTreeMap::new());
        VerbsguardStats {
            errors: counted.count(Severity::Error),
            warnings: counted.count(Severity::Warning),
            notes: counted.count(Severity::Note),
            contexts: totals.contexts,
            pds: totals.pds,
            umems: totals.umems,
            mrs: totals.of(ChildKind::Mr),
            parent_domains: totals.of(ChildKind::ParentDomain),
            calls: calls_by_function().values().sum(),
            children: totals.children.iter().sum(),
        }
    }

    /// For `verbsguard_dump`: what is alive, one object a line.
    pub fn dump(&self) -> String {
        let now = crate::world::now();
        let live = self.tracker.live();
        self.tracker.lines(&live, now).map(|line| line + "\n").collect()
    }

    fn live_by_type(&self) -> BTreeMap<Cow<'static, str>, u64> {
        let totals = self.tracker.totals();
        let children = ChildKind::ALL.iter().map(|kind| (kind.word(), totals.of(*kind)));
        [("context", totals.contexts), ("pd", totals.pds), ("umem", totals.umems)]
            .into_iter()
            .chain(children)
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.into(), count))
            .collect()
    }

    /// `verbose=1`: where the history is known to have gaps.
    fn tell_gaps(&self) {
        for file in self.tracker.files().filter(|file| file.has_gaps()) {
            let label = &file.label;
            self.log.say(&format!("device file {label}: not all that happened in it was told, so less is claimed"));
        }
    }

    /// `verbose=1`: the real libraries, and which entry points were called.
    fn tell_libraries(&self) {
        for provider in [Provider::Verbs, Provider::Mlx5] {
            let paths: Vec<_> = provider.paths().iter().map(|path| path.display().to_string()).collect();
            let paths = if paths.is_empty() { "not used".to_owned() } else { paths.join(" and ") };
            self.log.say(&format!("{} is {paths}", provider.soname().to_string_lossy()));
        }
        crate::real::each_called(|function| {
            let found = if function.is_missing() { "missing there" } else { "real" };
            let (name, node, count) = (function.name(), function.node(), function.count());
            self.log.say(&format!("{name}@{node}: {count} calls, {found}"));
        });
    }
}

/// How often each function was called.
pub fn calls_by_function() -> BTreeMap<Cow<'static, str>, u64> {
    let mut calls = BTreeMap::new();
    crate::real::each_called(|function| {
        calls.insert(function.name().into(), function.count());
    });
    calls
}
