//! Clearing away what nobody needs any more.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::os::fd::RawFd;

use verbsguard_core::ledger::{Event, FileId, FileState, HolderId, ObjectState, Stamp};

use crate::folder::Folder;
use crate::journal::Journal;
use crate::view::View;
use crate::{holder, identity, whoami};

/// How many dead holders of a living device file are remembered, the latest of them.
const MOST_DEAD: usize = 256;

/// So many device files of which only the kernel's list of locks can tell are looked at in one go: whoever joins must not
/// wait for all that others left.
const MOST_UNKNOWN: usize = 16;

/// Removes the ledgers of device files that are dead, and whose holders all are. `is_dead` says of a device file whether
/// it is known to be dead; where it does not know, the kernel's list of locks may.
pub fn clear(directory: &Folder, is_dead: &dyn Fn(&FileId) -> Option<bool>) {
    let mut names = directory.names();
    // Each process begins elsewhere, so that all come to be looked at.
    let first = std::process::id() as usize % names.len().max(1);
    names.rotate_left(first);
    let mut unknown = 0;
    for name in names {
        let Ok(id) = name.parse::<FileId>() else { continue };
        let known = is_dead(&id);
        unknown += usize::from(known.is_none());
        if known == Some(false) || known.is_none() && unknown > MOST_UNKNOWN {
            continue;
        }
        let Some(folder) = directory.existing(&name) else { continue };
        if living(&folder).is_empty() && known.or_else(|| is_unlisted(&folder, &id)) == Some(true) {
            remove_all(&folder);
        }
    }
}

/// What a descriptor can tell [`clear`]: of device files of its own node whether they are dead.
pub fn is_dead_by(fd: RawFd) -> impl Fn(&FileId) -> Option<bool> {
    move |id| identity::is_alive(fd, id).ok().map(|alive| !alive)
}

fn holders(folder: &Folder) -> Vec<HolderId> {
    let mut holders: Vec<HolderId> = folder.names().iter().filter_map(|name| holder::holder_of(name)).collect();
    holders.sort_unstable();
    holders
}

fn living(folder: &Folder) -> Vec<HolderId> {
    holders(folder).into_iter().filter(|holder| holder::is_alive(folder, *holder)).collect()
}

/// Whether the machine was started anew since, or the identity's lock was listed once and is not any more.
fn is_unlisted(folder: &Folder, id: &FileId) -> Option<bool> {
    let process = holders(folder).into_iter().rev().find_map(|holder| holder::read(folder, holder).process)?;
    if process.host == whoami::host() && process.boot_id != whoami::boot_id() {
        return Some(true);
    }
    if !process.listed || process.boot_id != whoami::boot_id() {
        return None;
    }
    // From one read of the list to the next the kernel goes on by counting: where locks end meanwhile, as many are passed
    // over.
    for _ in 0..LOOKS {
        if is_listed(id)? {
            return Some(false);
        }
    }
    Some(true)
}

/// How often a lock has to be missing among all that there are.
const LOOKS: u32 = 8;

fn is_listed(id: &FileId) -> Option<bool> {
    // The kernel fills a page at most, and less where less is asked for.
    let mut locks = String::with_capacity(1 << 16);
    fs::File::open("/proc/locks").ok()?.read_to_string(&mut locks).ok()?;
    let mut starts = locks.lines().filter_map(|line| line.split_whitespace().rev().nth(1)?.parse::<i64>().ok());
    Some(starts.any(|start| identity::is_byte_of(start, id)))
}

fn remove_all(folder: &Folder) {
    folder.names().iter().for_each(|name| folder.remove(name));
    folder.remove_itself();
}

/// Clears a device file's folder of dead holders that nothing names any more; of everything, if it is known to be dead.
pub fn tidy(folder: &Folder, id: &FileId) {
    if living(folder).is_empty() && is_unlisted(folder, id) == Some(true) {
        return remove_all(folder);
    }
    let mut view = View::new(folder, id, HolderId(0));
    view.refresh_all();
    let needed = needed(view.state());
    let mut holders = holders(folder);
    // The last one's file stays, so that no number is given twice.
    holders.pop();
    let dead: Vec<HolderId> = holders.into_iter().filter(|holder| !view.is_alive(*holder)).collect();
    let too_many = dead.len().saturating_sub(MOST_DEAD);
    let gone: Vec<HolderId> = dead
        .iter()
        .enumerate()
        .filter(|(i, holder)| *i < too_many || !needed.contains(holder))
        .map(|(_, holder)| *holder)
        .collect();
    forget(folder, id, &view, &gone);
    folder.remove_drafts();
}

/// The holders that the state names: who made or ended an object, or has references to one that may live.
fn needed(state: &FileState) -> HashSet<HolderId> {
    let mut needed = HashSet::new();
    for object in state.objects() {
        needed.insert(object.born.holder);
        needed.extend(object.end.map(|end| end.mark.holder));
        if object.state != ObjectState::Destroyed {
            needed.extend(state.references(object.generation).map(|reference| reference.holder));
            needed.extend(state.children_of(object.generation).map(|(holder, ..)| holder));
        }
    }
    needed
}

fn forget(folder: &Folder, id: &FileId, view: &View, gone: &[HolderId]) {
    let log = Journal::new(folder, id.number, HolderId(0));
    for holder in gone {
        if view.state().joined().any(|(joined, _)| joined == *holder) {
            // In its own name: if we are killed in the middle, the record's writer is dead, as it should be.
            let left = Event::Left { holder: *holder, stamp: Stamp::default() };
            if log.append(*holder, &left, &mut |_| None).is_err() {
                continue;
            }
        }
        folder.remove(&holder::file_name(*holder));
    }
    let gone: HashSet<HolderId> = gone.iter().copied().collect();
    for name in folder.names() {
        if segment_of(&name).is_some_and(|holder| gone.contains(&holder)) {
            folder.remove(&name);
        }
    }
}

fn segment_of(name: &str) -> Option<HolderId> {
    let (holder, _) = name.strip_prefix("refs-")?.split_once('.')?;
    holder.parse().ok().map(HolderId)
}
