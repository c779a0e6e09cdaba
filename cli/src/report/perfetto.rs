//! The merged report on a time line, for Perfetto and chrome://tracing (the JSON Trace Event Format): what was found and
//! when, by process, and from ledgers how long each object lived.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use super::merge::{Life, Merged, Moment, Who};

/// The whole report, one JSON document.
pub fn render(merged: &Merged) -> io::Result<String> {
    // Process ids of different hosts may be the same ones: each process has a number of its own here.
    let numbers: BTreeMap<&Who, usize> = merged.processes.iter().zip(1..).collect();
    let mut events: Vec<Value> = numbers.iter().map(|(who, number)| name(who, *number)).collect();
    let number = |who: &Who| numbers.get(who).copied().unwrap_or_default();
    if let Some(timeline) = &merged.timeline {
        events.extend(timeline.moments.iter().map(|moment| instant(moment, number(&moment.who))));
        let lives = timeline.lives.iter().enumerate();
        events.extend(lives.flat_map(|(id, life)| slice(life, id, number(&life.who))));
    }
    let document = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    Ok(serde_json::to_string(&document)? + "\n")
}

fn name(who: &Who, number: usize) -> Value {
    let name = format!("{} (pid {} on {})", who.comm, who.pid, who.host);
    json!({ "ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": { "name": name } })
}

/// Microseconds, as the format has it.
fn micros(time_ns: u64) -> f64 {
    time_ns as f64 / 1000.0
}

fn instant(moment: &Moment, number: usize) -> Value {
    json!({
        "ph": "i",
        "s": "p",
        "name": moment.rule.id(),
        "cat": moment.severity.word(),
        "ts": micros(moment.time_ns),
        "pid": number,
        "tid": moment.tid,
        "args": { "message": moment.message, "count": moment.count },
    })
}

/// From birth to death; one that lives has no end.
fn slice(life: &Life, id: usize, number: usize) -> Vec<Value> {
    let edge = |ph: &str, time_ns: u64| {
        json!({
            "ph": ph,
            "cat": "object",
            "id": id,
            "name": life.name,
            "ts": micros(time_ns),
            "pid": number,
            "tid": 0,
            "args": { "file": life.file },
        })
    };
    let end = life.ended_ns.map(|time| edge("e", time));
    std::iter::once(edge("b", life.began_ns)).chain(end).collect()
}
