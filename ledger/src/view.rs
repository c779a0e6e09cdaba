//! What one process has read of a device file's ledger.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use verbsguard_core::ledger::log::{self, Memory};
use verbsguard_core::ledger::snapshot::{self, Cursor, Stop};
use verbsguard_core::ledger::{Event, FileId, FileState, Generation, HolderId, ProcessFile, Reference};

use crate::folder::Folder;
use crate::holder;
use crate::journal::{Epoch, Journal, Listing, Told};

/// How often a reader looks again at a record that is being written, some microseconds in all, before it gives the writer
/// up. That does no harm: a writer that was only stopped writes its event again.
const LOOKS: u32 = 1000;

/// A reader's place in a row of log files.
struct Follower {
    journal: Journal,
    epoch: Option<Arc<Epoch>>,
    /// A later one, to which this process has written.
    ahead: Option<Arc<Epoch>>,
    cursor: Cursor,
    read_to_end: bool,
}

/// A state, and how far it was read. Each process keeps its own.
pub struct View {
    folder: Folder,
    file: u64,
    /// Its own references are not read: it knows them.
    me: HolderId,
    state: FileState,
    objects: Follower,
    segments: HashMap<HolderId, Follower>,
    gone: HashMap<HolderId, bool>,
}

impl View {
    pub(crate) fn new(folder: &Folder, id: &FileId, me: HolderId) -> Self {
        let journal = Journal::new(folder, id.number, HolderId(0));
        View {
            folder: folder.clone(),
            file: id.number,
            me,
            state: FileState::new(),
            objects: Follower::new(journal),
            segments: HashMap::new(),
            gone: HashMap::new(),
        }
    }

    /// What is known.
    pub fn state(&self) -> &FileState {
        &self.state
    }

    /// What is known, to count this process's own references in.
    pub fn state_mut(&mut self) -> &mut FileState {
        &mut self.state
    }

    /// Takes in an event about this process's own references, which it does not read.
    pub fn tell_own(&mut self, event: &Event) {
        if !event.is_shared() {
            self.state.apply(0, event);
        }
    }

    /// The holders that have joined and not left, this process left out.
    pub fn others(&self) -> Vec<HolderId> {
        self.state.joined().map(|(holder, _)| holder).filter(|holder| *holder != self.me).collect()
    }

    /// Takes in what is new about objects. With nothing new it reads one word of shared memory.
    #[inline]
    pub fn refresh(&mut self) {
        let Follower { epoch, cursor, ahead, .. } = &self.objects;
        if ahead.is_some() || !epoch.as_ref().is_some_and(|epoch| epoch.is_free(cursor.index)) {
            self.read_objects();
        }
    }

    fn read_objects(&mut self) {
        self.objects.follow(&self.folder, &mut self.state, None, &mut Listing::default());
    }

    /// This process has told an event about objects. Where all before it is known it need not be read; and a file that
    /// `writes` has open is not opened again.
    pub(crate) fn told(&mut self, event: &Event, told: Told, writes: &Journal) {
        let Follower { epoch, cursor, ahead, .. } = &mut self.objects;
        let known = epoch.as_ref().map_or(0, |epoch| epoch.number());
        if (known, cursor.index) == (told.epoch, told.index) {
            self.state.apply(told.seq, event);
            cursor.index += 1;
        } else if known < told.epoch {
            *ahead = writes.epoch();
        }
    }

    /// What has to be kept of a log of objects that is full, if this view has it to its end.
    pub(crate) fn objects_of(&mut self, full: &Epoch) -> Option<Vec<Event>> {
        self.refresh();
        let is_it = |known: &Epoch| known.number() == full.number();
        let whole = self.objects.read_to_end && self.objects.epoch.as_deref().is_some_and(is_it);
        whole.then(|| snapshot::objects(&self.state))
    }

    /// Takes in what is new about objects, and about the references and children of all other holders.
    pub fn refresh_all(&mut self) {
        self.refresh();
        let joined: Vec<HolderId> = self.state.joined().map(|(holder, _)| holder).collect();
        self.segments.retain(|holder, _| joined.contains(holder));
        self.gone.retain(|holder, _| joined.contains(holder));
        let mut listing = Listing::default();
        for holder in joined.into_iter().filter(|holder| *holder != self.me) {
            let segment = self.segments.entry(holder);
            let segment = segment.or_insert_with(|| Follower::new(Journal::new(&self.folder, self.file, holder)));
            segment.follow(&self.folder, &mut self.state, Some(holder), &mut listing);
        }
        // Who ends a reference by a destroy tells of the destroy first. With objects read last, none is seen live whose
        // last reference has ended so.
        self.refresh();
    }

    /// Whether a holder lives. What is dead stays dead, so that is asked once.
    pub fn is_alive(&mut self, holder: HolderId) -> bool {
        if holder == self.me {
            return true;
        }
        if self.gone.contains_key(&holder) {
            return false;
        }
        let alive = holder::is_alive(&self.folder, holder);
        if !alive {
            self.gone.insert(holder, true);
        }
        alive
    }

    /// The references that other living processes have to an object, as of the last [`View::refresh_all`].
    pub fn held_by_others(&mut self, generation: Generation) -> Vec<Reference> {
        let references: Vec<Reference> = self.state.references_of_others(generation, self.me).copied().collect();
        references.into_iter().filter(|reference| self.is_alive(reference.holder)).collect()
    }

    /// Who a holder is, and its stacks. Reads its file.
    pub fn process(&self, holder: HolderId) -> ProcessFile {
        holder::read(&self.folder, holder)
    }
}

impl Follower {
    fn new(journal: Journal) -> Self {
        Follower { journal, epoch: None, ahead: None, cursor: Cursor::default(), read_to_end: false }
    }

    /// Folds what is new. `segment`: whose, so that what is known of it can be dropped before it is read anew.
    fn follow(&mut self, folder: &Folder, state: &mut FileState, segment: Option<HolderId>, listing: &mut Listing) {
        loop {
            match self.fold(folder, state) {
                Ok(Stop::End) => {}
                // What this process writes itself stands in a later one, so nothing more comes here.
                Ok(_) if self.ahead.is_some() => {}
                // Others went on and removed it before we had read it to its end.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.read_to_end = false;
                    *listing = Listing::default();
                }
                // What cannot be read now may be readable later; until then the state says less than it could.
                Ok(_) => return,
                Err(error) => return note_damage(&error, state),
            }
            match self.go_on(state, segment, listing) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return note_damage(&error, state),
            }
        }
    }

    /// Folds what is new in the present epoch.
    fn fold(&mut self, folder: &Folder, state: &mut FileState) -> io::Result<Stop> {
        let Some(epoch) = &self.epoch else { return Ok(Stop::End) };
        let mut looks = 0;
        let stop = loop {
            let cursor = &mut self.cursor;
            let writer = match epoch.with(folder, false, |memory| fold(cursor, memory, epoch, state))? {
                Stop::Busy(writer) => writer,
                stop => break stop,
            };
            looks += 1;
            if looks > LOOKS {
                let index = self.cursor.index;
                epoch.with(folder, true, |memory| log::make_void(memory, index, writer))?;
                looks = 0;
            }
            std::hint::spin_loop();
        };
        self.read_to_end = stop == Stop::End;
        Ok(stop)
    }

    /// Opens the newest epoch, if there is a newer one than this.
    fn go_on(&mut self, state: &mut FileState, segment: Option<HolderId>, listing: &mut Listing) -> io::Result<bool> {
        let known = self.epoch.as_ref().map_or(0, |epoch| epoch.number());
        let next = match self.ahead.take().filter(|ahead| ahead.number() > known) {
            Some(ahead) => ahead,
            None => {
                let newest = match &self.epoch {
                    Some(epoch) => self.journal.newest_after(epoch, listing)?,
                    None => self.journal.newest_in(0, listing)?,
                };
                let Some(newest) = newest else { return Ok(false) };
                Arc::new(newest)
            }
        };
        let follows = self.read_to_end && next.number() == known + 1;
        self.cursor = Cursor::default();
        match segment {
            // The snapshot says what is known already.
            _ if follows => self.cursor.index = next.header().snapshot,
            Some(holder) => state.forget_holder(holder),
            // What happened between was not read: begin anew. References are read again with their segments.
            None if known != 0 => state.forget_objects(),
            None => {}
        }
        self.epoch = Some(next);
        Ok(true)
    }
}

/// What is damaged, or another version's, is missing.
fn note_damage(error: &io::Error, state: &mut FileState) {
    if error.kind() == io::ErrorKind::InvalidData {
        state.set_lost();
    }
}

fn fold(cursor: &mut Cursor, memory: &dyn Memory, epoch: &Epoch, state: &mut FileState) -> Stop {
    let stop = cursor.fold(memory, epoch.header(), state);
    if stop != Stop::UpToDate && log::is_lost(memory) {
        state.set_lost();
    }
    stop
}
