//! What the ledgers of killed processes tell: they wrote no last report, but what they held is on record.

use std::path::Path;

use verbsguard_core::ledger::{HolderId, Object, Process};
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::symbols::Symbols;
use verbsguard_ledger::{Found, FoundHolder, open_all};

use super::merge::{Life, Merged, Seen, Who};

/// Counts what dead holders left, in every device file of a ledger. `beside_logs`: what a process told of is in its log.
pub fn read(path: &Path, merged: &mut Merged, beside_logs: bool) {
    let mut symbols = Symbols::default();
    for found in open_all(path) {
        merged.ledgers += 1;
        let known = found.holders.iter().filter_map(|holder| holder.file.process.as_ref());
        merged.processes.extend(known.map(who));
        if let Some(timeline) = &mut merged.timeline {
            timeline.lives.extend(found.state.objects().map(|object| life(&found, object)));
        }
        let mut objects: Vec<&Object> = found.state.living().collect();
        objects.retain(|object| !(beside_logs && object.mourned));
        objects.sort_unstable_by_key(|object| object.generation);
        objects.into_iter().for_each(|object| judge(&found, object, merged, &mut symbols));
    }
}

fn who(process: &Process) -> Who {
    Who { host: process.host.clone(), pid: process.pid, comm: process.comm.clone() }
}

fn nobody() -> Who {
    Who { host: String::new(), pid: 0, comm: "unknown".to_owned() }
}

fn life(found: &Found, object: &Object) -> Life {
    let maker = found.holder(object.born.holder).and_then(|holder| holder.file.process.as_ref());
    Life {
        who: maker.map_or_else(nobody, who),
        name: format!("{} {}", object.kind.word(), object.handle.0),
        file: found.id.to_string(),
        began_ns: object.born.stamp.time_ns,
        ended_ns: object.end.filter(|_| !object.may_live()).map(|end| end.mark.stamp.time_ns),
    }
}

fn is_alive(found: &Found, holder: HolderId) -> bool {
    found.holder(holder).is_some_and(|holder| holder.alive)
}

/// An object that no living process has a reference to: lost as long as others keep the device file open, else gone with
/// its last holder. Where living processes have it, what the dead left is theirs to release.
fn judge(found: &Found, object: &Object, merged: &mut Merged, symbols: &mut Symbols) {
    let held = found.state.references(object.generation).any(|reference| is_alive(found, reference.holder));
    let open = found.holders.iter().any(|holder| holder.alive);
    let dead: Vec<&FoundHolder> = found
        .state
        .references(object.generation)
        .filter_map(|reference| found.holder(reference.holder))
        .filter(|holder| !holder.alive)
        .collect();
    let (rule, severity, words) = match (held, open) {
        (true, _) if dead.is_empty() => return,
        (true, _) => (Rule::LeftToOthers, Severity::Note, "ended without releasing it; other holders remain"),
        (false, true) if found.state.whole() => {
            (Rule::ObjectOrphaned, Severity::Error, "lives on in an open device file, and no reference to it is left")
        }
        (false, true) => {
            (Rule::ObjectOrphaned, Severity::Note, "no known reference is left; there may be unknown holders")
        }
        (false, false) => {
            (Rule::HeldAtExit, Severity::Note, "was held when the last known holder of its device file ended")
        }
    };
    let maker = found.holder(object.born.holder);
    let frames = symbols.spell(maker.map(|maker| maker.file.stack(object.born.stamp.site)).unwrap_or_default());
    let kind = object.kind.word();
    let message = format!("{kind} (handle {}, device file {}) {words}", object.handle.0, found.id);
    // Counted once an object: for the last to have it, or else for its maker.
    let blamed =
        dead.into_iter().max_by_key(|holder| holder.id).or(maker).and_then(|holder| holder.file.process.as_ref());
    let who = blamed.map_or_else(nobody, who);
    merged.add(Seen { severity, rule, object: kind.to_owned(), frames, who, count: 1, message });
}
