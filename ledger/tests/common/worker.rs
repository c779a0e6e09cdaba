//! A process that uses a ledger: tells it of objects and references at random, and checks that what it told stands there.

use std::path::Path;

use verbsguard_core::ledger::{
    ChildKind, Event, FileId, Generation, Handle, HolderId, How, Kind, ObjectState, Origin, Process, Serial, Stamp,
};
use verbsguard_ledger::{Folder, Ledger, View};

/// A holder, with a place of its own among the handles.
pub struct Worker {
    pub ledger: Ledger,
    pub view: View,
    serial: u64,
    random: u64,
}

impl Worker {
    pub fn join(dir: &Path, id: &FileId) -> Worker {
        let folder = Folder::open(Some(dir)).expect("the directory");
        let process = Process { pid: std::process::id(), comm: "worker".to_owned(), ..Process::default() };
        let ledger = Ledger::join(&folder, id, &process, true, Stamp::default()).expect("joined");
        let view = ledger.view();
        let random = u64::from(ledger.me().0).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Worker { ledger, view, serial: 0, random }
    }

    fn me(&self) -> HolderId {
        self.ledger.me()
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn append(&mut self, event: Event) -> u64 {
        self.ledger.append_seen(&event, &mut self.view).expect("appended")
    }

    /// Makes an object and a reference to it.
    pub fn make(&mut self, handle: Handle) -> Generation {
        let (kind, holder, stamp) = (Kind::Pd, self.me(), Stamp { time_ns: 1, ..Stamp::default() });
        let seq = self.append(Event::Born { kind, handle, second_id: Some(holder.0), holder, stamp, seen: true });
        self.view.refresh();
        let object = self.view.state().object_told(kind, handle, seq).expect("it was told");
        assert_eq!((object.born.holder, object.may_live()), (holder, true));
        object.generation
    }

    pub fn acquire(&mut self, handle: Handle, generation: Generation, origin: Origin) -> Serial {
        self.serial += 1;
        let (serial, holder, kind, stamp) = (Serial(self.serial), self.me(), Kind::Pd, Stamp::default());
        self.append(Event::Acquired { holder, serial, kind, handle, generation, origin, stamp });
        serial
    }

    pub fn release(&mut self, serial: Serial) {
        self.append(Event::Released { holder: self.me(), serial, how: How::Unimported, stamp: Stamp::default() });
    }

    pub fn destroy(&mut self, handle: Handle, generation: Generation) {
        let (kind, holder, stamp) = (Kind::Pd, self.me(), Stamp { time_ns: 2, ..Stamp::default() });
        self.append(Event::Dying { kind, handle, generation, holder, stamp });
        self.append(Event::Destroyed { kind, handle, generation, holder, stamp });
        self.view.refresh();
        let state = self.view.state().object_by_generation(generation).map(|object| object.state);
        // It may be forgotten already if others destroyed many meanwhile.
        assert_ne!(state.unwrap_or(ObjectState::Destroyed), ObjectState::Live);
    }

    /// One object's life, in a handle that only this process uses, and an import of somebody else's.
    pub fn step(&mut self) {
        let handle = Handle(self.me().0 << 8 | self.random(16) as u32);
        let generation = self.make(handle);
        let serial = self.acquire(handle, generation, Origin::Owned);
        let child = |delta| (handle, delta);
        for (pd, delta) in [child(1), child(-1)] {
            self.append(Event::Children { holder: self.me(), pd, generation, child: ChildKind::Mr, delta });
        }
        if self.random(4) == 0 {
            self.import_any();
        }
        assert_eq!(self.view.state().object(Kind::Pd, handle).map(|object| object.generation), Some(generation));
        self.destroy(handle, generation);
        self.release(serial);
        // Nobody ends an object without a word.
        assert!(!self.view.state().is_lost());
    }

    fn import_any(&mut self) {
        self.view.refresh_all();
        let pick = self.random(8) as usize;
        let Some((handle, generation)) =
            self.view.state().living().map(|object| (object.handle, object.generation)).nth(pick)
        else {
            return;
        };
        let serial = self.acquire(handle, generation, Origin::Imported);
        self.release(serial);
    }

    /// What it knows about living objects, in an order of its own. (Which of the dead are remembered depends on when
    /// their references were seen to end.)
    pub fn digest(&mut self) -> String {
        self.view.refresh_all();
        let mut objects: Vec<_> =
            self.view.state().living().map(|object| (object.generation.0, object.handle.0)).collect();
        objects.sort_unstable();
        format!(
            "{} living, sequence {}, {:x}",
            objects.len(),
            self.view.state().last_seq(),
            hash(&format!("{objects:?}"))
        )
    }
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
