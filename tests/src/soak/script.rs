//! A program as a script for `tests-kernel/truth`, with what the model expects of each step.

use std::fmt::Write;

use super::kernel::{Device, Kind};
use super::model::{Found, Model, Outcome};
use super::step::{Given, Id, Source, Step, Who, letter, verb};

/// A program: steps that can all be taken, in this order.
#[derive(Clone, Debug)]
pub struct Program {
    /// Which kernel it is for.
    pub device: Device,
    /// Memory is never used twice, and stale pointers are used.
    pub fresh_addresses: bool,
    /// What its processes do.
    pub steps: Vec<Step>,
}

impl Program {
    /// The processes that others fork.
    pub fn forked(&self) -> Vec<Who> {
        let children = self.steps.iter().filter_map(|step| match step {
            Step::Fork { child, .. } => Some(*child),
            _ => None,
        });
        children.collect()
    }

    /// The same program without some steps: each time so many others.
    pub fn without(&self, steps: usize) -> Vec<Program> {
        let without = |at: usize| {
            let mut left = self.steps.clone();
            left.drain(at..(at + steps).min(left.len()));
            Program { steps: left, ..self.clone() }
        };
        (0..self.steps.len()).step_by(steps).map(without).collect()
    }

    /// The script. Steps that cannot be taken (any more) are left out.
    pub fn script(&self, title: &str) -> String {
        let mut model = Model::new(self.device, &self.forked());
        let mut text = format!("case {title}\n");
        if self.fresh_addresses {
            text.push_str("  fresh-addresses\n");
        }
        for step in &self.steps {
            let before = model.clone();
            match model.take(step) {
                Some(outcome) => add(&mut text, step, &outcome, &before, &model),
                None => model = before,
            }
        }
        text
    }
}

fn add(text: &mut String, step: &Step, outcome: &Outcome, before: &Model, after: &Model) {
    let arrow = if outcome.answer.is_empty() { String::new() } else { format!(" -> {}", outcome.answer) };
    for line in lines(step, before, after) {
        let _ = writeln!(text, "  {line}");
    }
    if !arrow.is_empty() {
        text.truncate(text.len() - 1);
        let _ = writeln!(text, "{arrow}");
    }
    for found in &outcome.found {
        let _ = writeln!(text, "    {}", found_line(found));
    }
}

fn found_line(found: &Found) -> String {
    let Found { who, severity, rule, action, count, of } = found;
    let many = if *count > 1 { format!(" x{count}") } else { String::new() };
    let of = of.map(|of| format!(" of {}", letter(of))).unwrap_or_default();
    format!("found {} {severity} {rule} {action}{many}{of}", letter(*who))
}

/// What a step is in the script's language: one statement, but for passing a descriptor on.
fn lines(step: &Step, model: &Model, after: &Model) -> Vec<String> {
    let line = match *step {
        Step::Open { who, new } => format!("{} c{new} = open", letter(who)),
        Step::Lend { who, context, to, fd } if who == to => format!("{} f{fd} = dup c{context}", letter(who)),
        Step::Lend { who, context, to, fd } => {
            let (from, to) = (letter(who), letter(to));
            return vec![format!("{from} send c{context} {to}"), format!("{to} f{fd} = receive")];
        }
        Step::CloseFd { who, fd } => format!("{} close_fd f{fd}", letter(who)),
        Step::ImportFd { who, fd, new } => format!("{} c{new} = import_device f{fd}", letter(who)),
        Step::Close { who, context } => format!("{} close {}", letter(who), name_of_context(model, who, context)),
        Step::Make { who, kind, context, new } => {
            let (who, context) = (letter(who), name_of_context(model, who, context));
            match kind {
                Kind::Pd => format!("{who} p{new} = alloc_pd {context}"),
                Kind::Umem => format!("{who} u{new} = reg_umem {context} export=0"),
            }
        }
        Step::Import { who, kind, context, source, new } => {
            let (at, source) = (name_of_context(model, who, context), name_of_source(model, kind, source));
            match kind {
                Kind::Pd => format!("{} p{new} = import_pd {at} {source}", letter(who)),
                Kind::Umem => format!("{} u{new} = import_umem {at} {source} export=0", letter(who)),
            }
        }
        Step::Export { who, umem, new } => {
            format!("{} b{new} = export {}", letter(who), name_of(model, who, Kind::Umem, umem))
        }
        Step::RegMr { who, pd, new } => {
            format!("{} m{new} = reg_mr {}", letter(who), name_of(model, who, Kind::Pd, pd))
        }
        Step::DeregMr { who, mr } => format!("{} dereg_mr m{mr}", letter(who)),
        Step::End { who, kind, end, what } => {
            format!("{} {} {}", letter(who), verb(kind, end), name_of(model, who, kind, what))
        }
        Step::Fork { who, child } => format!("{} fork {}", letter(who), letter(child)),
        Step::Kill(who) => format!("kill {}", letter(who)),
        Step::Exit(who) => format!("exit {}", letter(who)),
        Step::Quit(who) => format!("quit {}", letter(who)),
        Step::Count => {
            let ((pds, umems, mrs), (on_record, umems_on_record)) = (after.counts(), after.on_record());
            return vec![
                format!("live pd={pds} umem={umems} mr={mrs}"),
                format!("ledger pd={on_record} umem={umems_on_record}"),
            ];
        }
    };
    vec![line]
}

fn name_of_context(model: &Model, who: Who, context: Id) -> String {
    let open = model.processes[who].contexts.get(&context).is_some_and(|context| context.open);
    format!("c{context}{}", if open { "" } else { "!" })
}

fn name_of_source(model: &Model, kind: Kind, source: Source) -> String {
    match source {
        Source::Known(id) => {
            let maker = model.known.get(&id).map_or('?', |(who, ..)| letter(*who));
            format!("{maker}.{}{id}", if kind == Kind::Pd { "p" } else { "b" })
        }
        Source::Number(number) => format!("#{number}"),
        Source::Forbidden => "null at=forbidden".into(),
        Source::Null => "null at=null".into(),
    }
}

/// A reference where one to a `kind` is expected.
fn name_of(model: &Model, who: Who, kind: Kind, given: Given) -> String {
    match given {
        Given::Null => "null".into(),
        Given::Mr(id) => format!("mr:m{id}"),
        Given::Context(id) => format!("context:c{id}"),
        Given::Reference(id) => {
            let Some(reference) = model.processes[who].references.get(&id) else { return "?".into() };
            // An unimport that is refused, for its context is closed, answers nothing: the player takes it for an end.
            let open = model.processes[who].contexts.get(&reference.context).is_some_and(|context| context.open);
            let dead = if reference.live && open { "" } else { "!" };
            match reference.kind {
                Kind::Pd => format!("{}p{id}{dead}", if kind == Kind::Pd { "" } else { "pd:" }),
                Kind::Umem => format!("{}u{id}{dead}", if kind == Kind::Umem { "" } else { "umem:" }),
            }
        }
    }
}
