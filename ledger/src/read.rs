//! Reading ledgers without being part of them: for `verbsguard ps` and `report`, and for dead ones.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use verbsguard_core::ledger::log::{self, Header, SLOT_WORDS};
use verbsguard_core::ledger::snapshot::{self, Cursor, Stop};
use verbsguard_core::ledger::{FileId, FileState, HolderId, ProcessFile};

use crate::folder::Folder;
use crate::holder;

/// No log file is longer; a longer one is hostile.
const MOST_BYTES: u64 = (log::MOST_SLOTS as u64 + 1) * 8 * SLOT_WORDS as u64;

const HEADER_BYTES: usize = 8 * SLOT_WORDS;

/// How often a log is read anew that is superseded, or changes, while it is being read.
const TRIES: usize = 16;

/// A holder, as it told of itself.
#[derive(Clone, Debug)]
pub struct FoundHolder {
    /// Its number.
    pub id: HolderId,
    /// Whether it lives.
    pub alive: bool,
    /// What it told.
    pub file: ProcessFile,
}

/// A device file's ledger.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which device file.
    pub id: FileId,
    /// What happened in it.
    pub state: FileState,
    /// Its holders, by number; also dead ones that are remembered.
    pub holders: Vec<FoundHolder>,
}

impl Found {
    /// A holder.
    pub fn holder(&self, id: HolderId) -> Option<&FoundHolder> {
        self.holders.iter().find(|holder| holder.id == id)
    }
}

/// Reads all ledgers in a directory, or the one whose own folder it is. Changes nothing, and trusts nothing: what is
/// damaged is passed over.
pub fn open_all(path: &Path) -> impl Iterator<Item = Found> {
    let own = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    let directory = Folder::to_read(path);
    let mut names = if own.is_some() { Vec::new() } else { directory.names() };
    names.sort_unstable();
    let inside = names.into_iter().filter_map(move |name| Some((name.parse().ok()?, directory.existing(&name)?)));
    let alone = own.map(|id| (id, Folder::to_read(path)));
    alone.into_iter().chain(inside).map(|(id, folder)| read(id, &folder))
}

/// The objects of a device file, without who refers to them: quickly read.
pub struct Glimpse {
    /// Which device file.
    pub id: FileId,
    /// What happened in it.
    pub state: FileState,
    folder: Folder,
}

impl Glimpse {
    /// Whether any holder of it lives.
    pub fn is_held(&self) -> bool {
        self.state.joined().any(|(holder, _)| holder::is_alive(&self.folder, holder))
    }

    /// Who a holder is, and its stacks.
    pub fn process(&self, holder: HolderId) -> ProcessFile {
        holder::read(&self.folder, holder)
    }
}

/// Reads the objects in all ledgers in a directory but the one of `here`, those of its own device node first.
pub fn glimpse_all(directory: &Folder, here: FileId) -> impl Iterator<Item = Glimpse> {
    let mut ids: Vec<FileId> = directory.names().iter().filter_map(|name| name.parse().ok()).collect();
    ids.retain(|id| *id != here);
    ids.sort_by_key(|id| ((id.dev, id.ino) != (here.dev, here.ino), id.number));
    ids.into_iter().filter_map(|id| {
        let folder = directory.existing(&id.file_name())?;
        let mut state = FileState::new();
        fold(&folder, "log", HolderId(0), &id, &mut state);
        Some(Glimpse { id, state, folder })
    })
}

fn read(id: FileId, folder: &Folder) -> Found {
    let mut state = FileState::new();
    fold(folder, "log", HolderId(0), &id, &mut state);
    let mut numbers: Vec<HolderId> = folder.names().iter().filter_map(|name| holder::holder_of(name)).collect();
    numbers.sort_unstable();
    let joined: Vec<HolderId> = state.joined().map(|(holder, _)| holder).collect();
    for holder in joined {
        fold(folder, &format!("refs-{}", holder.0), holder, &id, &mut state);
    }
    let found = |id| FoundHolder { id, alive: holder::is_alive(folder, id), file: holder::read(folder, id) };
    Found { id, state, holders: numbers.into_iter().map(found).collect() }
}

/// Folds a row's newest file.
fn fold(folder: &Folder, row: &str, holder: HolderId, id: &FileId, state: &mut FileState) {
    for tries in 1..=TRIES {
        let number = |name: String| name.strip_prefix(row)?.strip_prefix('.')?.parse::<u64>().ok();
        let Some(newest) = folder.names().into_iter().filter_map(number).max() else { return };
        let name = format!("{row}.{newest}");
        let Ok((words, then)) = copy(folder, &name) else { continue };
        match Header::read(words.as_slice()) {
            Ok(header) if header.holder == holder && header.file == id.number => {
                if tries < TRIES && !snapshot::is_whole(words.as_slice(), then.as_slice(), &header) {
                    continue;
                }
                fold_words(&words, &header, state);
            }
            _ => state.set_lost(),
        }
        return;
    }
    state.set_lost();
}

fn fold_words(words: &[u64], header: &Header, state: &mut FileState) {
    let mut cursor = Cursor::default();
    // Whatever is being written at this moment, or never was finished, is not part of the picture.
    while let Stop::Busy(_) = cursor.fold(words, header, state) {
        cursor.index += 1;
    }
    if log::is_lost(words) {
        state.set_lost();
    }
}

/// A file's words, and its header as it was after they were read.
fn copy(folder: &Folder, name: &str) -> std::io::Result<(Vec<u64>, Vec<u64>)> {
    let (mut bytes, mut header) = (Vec::new(), [0; HEADER_BYTES]);
    let file = folder.file(name, false)?;
    (&file).take(MOST_BYTES).read_to_end(&mut bytes)?;
    // A file that is too short for it is no log.
    let _ = file.read_at(&mut header, 0)?;
    let words = |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Ok((words(&bytes), words(&header)))
}
