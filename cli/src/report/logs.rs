//! Reading JSON logs, a line at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use verbsguard_core::finding::Finding;
use verbsguard_core::report::SCHEMA;

use super::Progress;
use super::merge::{Merged, Who};

/// No line of ours is longer; the rest of a longer one is passed over.
const LONGEST_LINE: u64 = 4 << 20;

#[derive(Deserialize)]
struct Head {
    schema: u32,
    kind: String,
}

/// Counts what a log says. Lines that are no finding of a known version are counted as unread.
pub fn read(path: &Path, merged: &mut Merged, progress: &mut Progress) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    merged.logs += 1;
    let mut line = Vec::new();
    loop {
        line.clear();
        let got = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if got == 0 {
            return Ok(());
        }
        progress.bytes(got as u64);
        if take(&line, merged).is_none() {
            merged.unread += 1;
        }
    }
}

fn take(line: &[u8], merged: &mut Merged) -> Option<()> {
    if line.trim_ascii().is_empty() {
        return Some(());
    }
    let head: Head = serde_json::from_slice(line).ok().filter(|head: &Head| head.schema == SCHEMA)?;
    match head.kind.as_str() {
        "finding" => merged.finding(serde_json::from_slice::<Finding>(line).ok()?),
        "summary" => {
            let summary: verbsguard_core::report::Summary = serde_json::from_slice(line).ok()?;
            merged.processes.insert(Who::from(&summary.stamp));
        }
        _ => return None,
    }
    Some(())
}
