//! What one process has read of a device file's ledger.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use verbsguard_core::ledger::log::{self, Memory};
use verbsguard_core::ledger::snapshot::{Cursor, Stop};
use verbsguard_core::ledger::{Event, FileId, FileState, Generation, HolderId, ProcessFile, Reference};

use crate::folder::Folder;
use crate::holder;
use crate::journal::{Epoch, Journal};

/// How often a reader looks again at a record that is being written before it asks whether the writer lives.
const LOOKS: u32 = 100;

/// After this a writer that lives but does not finish is given up: it is stopped, and will write its event again.
const STUCK: Duration = Duration::from_secs(1);

/// A reader's place in a row of log files.
struct Follower {
    journal: Journal,
    epoch: Option<Epoch>,
    cursor: Cursor,
    stuck: Option<(u32, Instant)>,
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

    /// Takes in an event about this process's own references, which it does not read.
    pub fn tell_own(&mut self, event: &Event) {
        if !event.is_shared() {
            self.state.apply(0, event);
        }
    }

    /// Notes that this process has missed something: nothing is whole from now on.
    pub fn set_lost(&mut self) {
        self.state.set_lost();
    }

    /// The holders that have joined and not left, this process left out.
    pub fn others(&self) -> Vec<HolderId> {
        self.state.joined().map(|(holder, _)| holder).filter(|holder| *holder != self.me).collect()
    }

    /// Takes in what is new about objects. With nothing new it reads one word of shared memory.
    pub fn refresh(&mut self) {
        self.objects.follow(&self.folder, &mut self.state, None);
    }

    /// Takes in what is new about objects, and about the references and children of all other holders.
    pub fn refresh_all(&mut self) {
        self.refresh();
        let joined: Vec<HolderId> = self.state.joined().map(|(holder, _)| holder).collect();
        self.segments.retain(|holder, _| joined.contains(holder));
        self.gone.retain(|holder, _| joined.contains(holder));
        for holder in joined.into_iter().filter(|holder| *holder != self.me) {
            let segment = self.segments.entry(holder);
            let segment = segment.or_insert_with(|| Follower::new(Journal::new(&self.folder, self.file, holder)));
            segment.follow(&self.folder, &mut self.state, Some(holder));
        }
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
        Follower { journal, epoch: None, cursor: Cursor::default(), stuck: None }
    }

    /// Folds what is new. `segment`: whose, so that what is known of it can be dropped before it is read anew.
    fn follow(&mut self, folder: &Folder, state: &mut FileState, segment: Option<HolderId>) {
        // What cannot be read now may be readable later; until then the state says less than it could.
        let _ = self.try_follow(folder, state, segment);
    }

    fn try_follow(&mut self, folder: &Folder, state: &mut FileState, segment: Option<HolderId>) -> io::Result<()> {
        if self.epoch.is_none() {
            self.go_on(state, segment)?;
        }
        let mut looks = 0;
        while let Some(epoch) = &self.epoch {
            let cursor = &mut self.cursor;
            match epoch.with(folder, false, |memory| fold(cursor, memory, epoch, state))? {
                Stop::UpToDate => return Ok(()),
                Stop::End => {
                    if !self.go_on(state, segment)? {
                        return Ok(());
                    }
                }
                Stop::Busy(_) if looks < LOOKS => {
                    looks += 1;
                    std::hint::spin_loop();
                }
                Stop::Busy(writer) => {
                    if !self.give_up(folder, writer)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes an unfinished record void if its writer is dead or stopped.
    fn give_up(&mut self, folder: &Folder, writer: HolderId) -> io::Result<bool> {
        let Some(epoch) = &self.epoch else { return Ok(false) };
        let index = self.cursor.index;
        let since = match self.stuck {
            Some((slot, since)) if slot == index => since,
            _ => self.stuck.insert((index, Instant::now())).1,
        };
        if since.elapsed() < STUCK && holder::is_alive(folder, writer) {
            return Ok(false);
        }
        epoch.with(folder, true, |memory| log::make_void(memory, index, writer))?;
        Ok(true)
    }

    /// Opens the newest epoch, if there is a newer one than this.
    fn go_on(&mut self, state: &mut FileState, segment: Option<HolderId>) -> io::Result<bool> {
        let known = self.epoch.as_ref().map_or(0, Epoch::number);
        let Some(next) = self.journal.newest(known)? else { return Ok(false) };
        let follows = known != 0 && next.number() == known + 1;
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

fn fold(cursor: &mut Cursor, memory: &dyn Memory, epoch: &Epoch, state: &mut FileState) -> Stop {
    let stop = cursor.fold(memory, epoch.header(), state);
    if stop != Stop::UpToDate && log::is_lost(memory) {
        state.set_lost();
    }
    stop
}
