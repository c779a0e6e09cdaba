//! A host with a thousand device files: what one process does not find in its own is looked for in the others, but not
//! at any price.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Trial;
use verbsguard_core::ledger::{Event, FileId, Handle, Kind, Process, Stamp};
use verbsguard_ledger::{Degraded, Folder, Ledger};
use verbsguard_tests::expect::End;
use verbsguard_tests::{Outcome, run};

use crate::{Bench, fresh};

const DEVICE_FILES: u64 = 1000;

/// Objects in each.
const OBJECTS: u32 = 100;

/// What a failing import may cost, in microseconds of processor time: the bound in `src/world.rs`, one ledger more, and
/// the call itself.
const MOST: u64 = 8000;

/// What it costs where the look is free.
const LEAST: u64 = 300;

pub fn trials(bench: &Arc<Bench>) -> Outcome<Vec<Trial>> {
    let program = bench.compile("ledger/many.c")?;
    let bench = bench.clone();
    Ok(vec![Trial::test("many::a_failing_import_costs_little", move || Ok(costs_little(&bench, &program)?))])
}

fn costs_little(bench: &Bench, program: &Path) -> Outcome {
    let folder = fresh(&bench.folder.join("many"))?;
    let alone = cost(program, &folder, "few")?;
    let ledgers = folder.join("ledgers");
    let holding = (1..=DEVICE_FILES).map(|number| ledger(&ledgers, number)).collect::<Result<Vec<_>, _>>();
    let holding = holding.map_err(|error| error.to_string())?;
    let crowded = cost(program, &folder, "ledgers")?;
    println!("a failing import costs {alone} us, among {} ledgers {crowded} us", holding.len());
    if alone > crowded || crowded < LEAST {
        return Err(format!("the other ledgers were not looked at: {alone} us alone, {crowded} us among many"));
    }
    if crowded > MOST { Err(format!("costs {crowded} us, {alone} us alone")) } else { Ok(()) }
}

/// A device file's ledger with a living holder and objects.
fn ledger(directory: &Path, number: u64) -> Result<Ledger, Degraded> {
    let id = FileId { dev: 5, ino: 6, number };
    let ledger = Ledger::join(&Folder::open(Some(directory))?, &id, &Process::default(), true, Stamp::default())?;
    for handle in 1..=OBJECTS {
        let (kind, handle, holder) = (Kind::Pd, Handle(handle + 100), ledger.me());
        ledger.append(&Event::Born { kind, handle, second_id: None, holder, stamp: Stamp::default(), seen: true });
    }
    Ok(ledger)
}

fn cost(program: &Path, folder: &Path, ledgers: &str) -> Outcome<u64> {
    let ledger = format!("ledger={}", folder.join(ledgers).display());
    let done = run::run(program, folder, &["-o", &ledger, "-o", "exitcode=0"], &[])?;
    if done.end != End::Status(0) {
        return Err(format!("ended with {:?}: {}", done.end, done.stderr));
    }
    let cost = done.stdout.lines().find_map(|line| line.strip_prefix("cost ")?.parse().ok());
    cost.ok_or_else(|| format!("says no cost: {}", done.stdout))
}
