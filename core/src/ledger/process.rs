//! What a holder writes about itself: JSON Lines in its own file, so that others can name it and read its stacks.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::ledger::event::HolderId;
use crate::site::{Frame, Site};

/// A guarded process, as it tells of itself when it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id, in its own namespace.
    pub pid: u32,
    /// When it started, in clock ticks since boot: tells processes that had the same id apart.
    pub start_time: u64,
    /// Its pid namespace (the inode of /proc/self/ns/pid).
    pub pid_ns: u64,
    /// Effective user id.
    pub uid: u32,
    /// Command name.
    pub comm: String,
    /// Path of the program.
    pub exe: String,
    /// Which boot of the machine.
    pub boot_id: String,
    /// Host name.
    pub host: String,
    /// Device name ("mlx5_0").
    pub device: String,
    /// When it joined, nanoseconds since 1970.
    pub joined_ns: u64,
    /// The holder that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<HolderId>,
    /// The identity's lock is listed in /proc/locks (an emulated device's is not).
    #[serde(default)]
    pub listed: bool,
}

/// A line of a holder's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// Who it is; the first line.
    Process(Process),
    /// A module that stacks name by its number: path and build id.
    Module(u32, String, Option<String>),
    /// A stack: its site, and per frame the number of a module (-1 where there is none) and the offset.
    Stack(u32, Vec<(i64, u64)>),
}

/// A holder's file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessFile {
    /// Who it is; none where the file is damaged.
    pub process: Option<Process>,
    modules: HashMap<u32, (String, Option<String>)>,
    stacks: HashMap<u32, Vec<(i64, u64)>>,
}

impl ProcessFile {
    /// Reads a file's text. Lines that are none are passed over: the last may be half-written.
    pub fn read(text: &str) -> Self {
        let mut file = ProcessFile::default();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Process(process) => file.process = file.process.or(Some(process)),
                Line::Module(number, path, build_id) => {
                    file.modules.insert(number, (path, build_id));
                }
                Line::Stack(site, frames) => {
                    file.stacks.insert(site, frames);
                }
            }
        }
        file
    }

    /// The frames of a stack, not yet symbolized; none where the file does not have it.
    pub fn stack(&self, site: Site) -> Vec<Frame> {
        let frames = self.stacks.get(&site.0).map(Vec::as_slice).unwrap_or_default();
        frames.iter().map(|(module, offset)| self.frame(*module, *offset)).collect()
    }

    fn frame(&self, module: i64, offset: u64) -> Frame {
        let module = u32::try_from(module).ok().and_then(|number| self.modules.get(&number));
        let (module, build_id) = module.cloned().unwrap_or_default();
        Frame { module, offset, build_id, ..Frame::default() }
    }
}
