//! `verbsguard ps`: who holds which shared object, now, on this host.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde::Serialize;
use verbsguard_core::finding::{HolderState, Role};
use verbsguard_core::ledger::{HolderId, Kind, Object, ObjectState, Origin};
use verbsguard_core::report::{Clean, SCHEMA};
use verbsguard_core::site::Frame;
use verbsguard_core::symbols::Symbols;
use verbsguard_ledger::{Found, auto, open_all};

/// Shows who holds which PD and UMEM, now, on this host: device, device file, object, age, holders, where it was made.
#[derive(Debug, Args)]
pub struct Ps {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Look again every second, until interrupted
    #[arg(long)]
    watch: bool,
    /// Also device files that no guarded process holds any more
    #[arg(long)]
    all: bool,
    /// The ledger directory, where the programs run with ledger=DIR
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,
}

impl Ps {
    /// Prints what was asked for.
    pub fn run(&self) -> io::Result<()> {
        let mut symbols = Symbols::default();
        loop {
            let rows = self.rows(&mut symbols)?;
            let text = if self.json { json(&rows)? } else { table(&rows) };
            let mut out = io::stdout().lock();
            if self.watch && out.is_terminal() {
                out.write_all(b"\x1b[H\x1b[2J")?;
            }
            out.write_all(text.as_bytes())?;
            out.flush()?;
            if !self.watch {
                return Ok(());
            }
            thread::sleep(Duration::from_secs(1));
        }
    }

    fn rows(&self, symbols: &mut Symbols) -> io::Result<Vec<Row>> {
        let now = UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let mut rows = Vec::new();
        for directory in self.directories()? {
            for found in
                open_all(&directory).filter(|found| self.all || found.holders.iter().any(|holder| holder.alive))
            {
                let mut objects: Vec<&Object> = found.state.living().collect();
                objects.sort_unstable_by_key(|object| (object.handle, object.kind));
                rows.extend(objects.into_iter().map(|object| row(&found, object, now, symbols)));
            }
        }
        Ok(rows)
    }

    /// The one that was named, else one's own; root sees all users'.
    fn directories(&self) -> io::Result<Vec<PathBuf>> {
        if let Some(given) = &self.ledger {
            std::fs::read_dir(given)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", given.display())))?;
            return Ok(vec![given.clone()]);
        }
        let own = auto();
        let is_root = own.ends_with("verbsguard-0");
        let everyones = own.parent().filter(|_| is_root).and_then(|parent| std::fs::read_dir(parent).ok());
        let mut directories: Vec<PathBuf> = everyones
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_ledger(path))
            .collect();
        directories.sort_unstable();
        Ok(if directories.is_empty() { vec![own] } else { directories })
    }
}

fn is_ledger(path: &Path) -> bool {
    let user = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("verbsguard-"));
    user.is_some_and(|user| user.parse::<u32>().is_ok()) && !path.is_symlink()
}

/// A living object.
#[derive(Debug, Serialize)]
struct Row {
    schema: u32,
    kind: &'static str,
    device: String,
    file: String,
    #[serde(rename = "type")]
    object: &'static str,
    handle: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pdn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umem_id: Option<u32>,
    state: &'static str,
    exported: bool,
    age_seconds: f64,
    holders: Vec<Holder>,
    made: Vec<Frame>,
}

/// A process's part in it.
#[derive(Debug, Serialize)]
struct Holder {
    pid: u32,
    comm: String,
    #[serde(skip)]
    rank: u8,
    role: Role,
    state: HolderState,
    references: u64,
}

fn row(found: &Found, object: &Object, now: u64, symbols: &mut Symbols) -> Row {
    let second = |kind| object.second_id.filter(|_| object.kind == kind);
    let maker = found.holder(object.born.holder);
    let made = maker.map(|maker| maker.file.stack(object.born.stamp.site)).unwrap_or_default();
    let device = maker.and_then(|maker| maker.file.process.as_ref()).map(|process| process.device.clone());
    Row {
        schema: SCHEMA,
        kind: "object",
        device: device.unwrap_or_default(),
        file: found.id.to_string(),
        object: object.kind.word(),
        handle: object.handle.0,
        pdn: second(Kind::Pd),
        umem_id: second(Kind::Umem),
        state: if object.state == ObjectState::Dying { "dying" } else { "live" },
        exported: object.exported,
        age_seconds: Duration::from_nanos(now.saturating_sub(object.born.stamp.time_ns)).as_secs_f64(),
        holders: holders(found, object),
        made: symbols.spell(made),
    }
}

fn holders(found: &Found, object: &Object) -> Vec<Holder> {
    let mut parts: BTreeMap<(HolderId, u8), u64> = BTreeMap::new();
    for reference in found.state.references(object.generation) {
        *parts.entry((reference.holder, rank(reference.origin))).or_default() += 1;
    }
    let holder = |((id, rank), references): ((HolderId, u8), u64)| {
        let known = found.holder(id);
        let process = known.and_then(|holder| holder.file.process.as_ref());
        let alive = known.is_some_and(|holder| holder.alive);
        Holder {
            pid: process.map_or(0, |process| process.pid),
            comm: process.map(|process| process.comm.clone()).unwrap_or_default(),
            rank,
            role: [Role::Owner, Role::Importer, Role::Heir][usize::from(rank)],
            state: if alive { HolderState::Holds } else { HolderState::Gone },
            references,
        }
    };
    parts.into_iter().map(holder).collect()
}

fn rank(origin: Origin) -> u8 {
    match origin {
        Origin::Owned => 0,
        Origin::Imported => 1,
        Origin::Inherited => 2,
    }
}

fn json(rows: &[Row]) -> io::Result<String> {
    let lines: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
    Ok(lines?.into_iter().map(|line| line + "\n").collect())
}

const TITLES: [&str; 7] = ["DEVICE", "FILE", "OBJECT", "STATE", "AGE", "HOLDERS", "MADE AT"];

fn table(rows: &[Row]) -> String {
    let mut lines = vec![TITLES.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let widths: [usize; 7] =
        std::array::from_fn(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0));
    let pad = |line: &[String; 7]| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{:width$}", Clean(cell).to_string()));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(pad).collect()
}

fn cells(row: &Row) -> [String; 7] {
    let second = row.pdn.map(|pdn| format!(" (pdn {pdn})")).or(row.umem_id.map(|id| format!(" (id {id})")));
    [
        row.device.clone(),
        row.file.clone(),
        format!("{} {}{}", row.object, row.handle, second.unwrap_or_default()),
        format!("{}{}", row.state, if row.exported { ", exported" } else { "" }),
        age(row.age_seconds),
        if row.holders.is_empty() {
            "none known".to_owned()
        } else {
            row.holders.iter().map(holder_words).collect::<Vec<_>>().join(", ")
        },
        row.made.first().map(Frame::to_string).unwrap_or_default(),
    ]
}

/// "4100 server (owner)", "4242 client (importer ×3, gone)".
fn holder_words(holder: &Holder) -> String {
    let role = ["owner", "importer", "heir"][usize::from(holder.rank)];
    let times = if holder.references > 1 { format!(" ×{}", holder.references) } else { String::new() };
    let gone = if holder.state == HolderState::Gone { ", gone" } else { "" };
    match holder.pid {
        0 => format!("unknown ({role}{times}{gone})"),
        pid => format!("{pid} {} ({role}{times}{gone})", holder.comm),
    }
}

fn age(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}
