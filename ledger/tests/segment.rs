//! A holder's segment, which is written over lap after lap, between processes.

mod common;
#[path = "common/maps.rs"]
mod maps;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::Peer;
use common::worker::Worker;
use tempfile::TempDir;
use verbsguard_core::ledger::{Event, FileId, FileState, Generation, Handle, HolderId, How, Origin, Serial, Stamp};
use verbsguard_ledger::{Folder, Ledger, open_all};

const ID: FileId = FileId { dev: 5, ino: 6, number: 0x7f3b };

/// So many pairs that a segment has its usual size and was begun anew some times.
const LAPS: u32 = 8000;

fn dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("a directory")
}

/// A peer with one reference that lasts, behind which others come and go.
fn peer_with_laps(dir: &Path, generation: Generation, pairs: u32) -> (Peer, HolderId) {
    let peer = Peer::start();
    let holder = peer.ask(&format!("join {} {}", ID.file_name(), dir.display()), None);
    assert_eq!(peer.ask(&format!("acquire 3 {}", generation.0), None), "1");
    assert_eq!(peer.ask(&format!("churn {pairs} 3 {}", generation.0), None), "done");
    (peer, HolderId(holder.parse().expect("a number")))
}

fn serials(state: &FileState, holder: HolderId) -> Vec<Serial> {
    let mut serials: Vec<Serial> = state.references_of(holder).map(|reference| reference.serial).collect();
    serials.sort_unstable();
    serials
}

fn only_segment(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir.join(ID.file_name())).expect("the folder").flatten();
    let mut files = entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("/refs-"));
    let found = files.next().expect("a segment");
    assert_eq!(files.next(), None, "the files before it are gone");
    found
}

#[test]
fn laps_use_one_file_without_end() {
    let dir = dir();
    let mut me = Worker::join(dir.path(), &ID);
    let generation = me.make(Handle(3));
    let (peer, holder) = peer_with_laps(dir.path(), generation, LAPS);
    let file = only_segment(dir.path());
    assert_eq!(peer.ask(&format!("churn {LAPS} 3 {}", generation.0), None), "done");
    assert_eq!(only_segment(dir.path()), file);
    assert_eq!(fs::metadata(&file).expect("it is there").len(), 64 + 2 * 2047 * 64);
    me.view.refresh_all();
    assert_eq!(serials(me.view.state(), holder), [Serial(1)]);
    assert!(!me.view.state().is_lost());
}

/// Whoever reads while a holder's segment grows and comes round again and again sees what the holder has all the time.
fn nothing_is_missed(mode: u32, pairs: u32, peers: u32) {
    let dir = dir();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).expect("ours");
    let mut me = Worker::join(dir.path(), &ID);
    let generation = me.make(Handle(3));
    for _ in 0..peers {
        let (peer, holder) = peer_with_laps(dir.path(), generation, 10);
        // What a group can truncate is not mapped: there it is only the page that says that the peer lives.
        let files = if mode & 0o020 == 0 { 3 } else { 1 };
        assert_eq!(maps::mapped_in(dir.path(), peer.pid()), files);
        peer.tell(&format!("churn {pairs} 3 {}", generation.0), None);
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(peer.answer(), "done");
                is_done.store(true, Ordering::Release);
            });
            while !is_done.load(Ordering::Acquire) {
                look(dir.path(), &mut me, holder);
            }
        });
        me.view.refresh_all();
        assert_eq!(serials(me.view.state(), holder), [Serial(1)]);
    }
}

/// One that looks again and again, a newcomer, and one from outside.
fn look(dir: &Path, me: &mut Worker, holder: HolderId) {
    me.view.refresh_all();
    let mut fresh = me.ledger.view();
    fresh.refresh_all();
    let found = open_all(dir).next().expect("one device file").state;
    for (who, state) in [("always", me.view.state()), ("newcomer", fresh.state()), ("outside", &found)] {
        let seen = serials(state, holder);
        assert!(seen.contains(&Serial(1)) && seen.len() <= 2, "{who}: {seen:?}");
        assert!(!state.is_lost(), "{who}");
    }
}

#[test]
fn a_holder_that_comes_round_hides_nothing() {
    nothing_is_missed(0o700, 50_000, 6);
}

#[test]
fn nor_does_one_in_a_group_shared_directory() {
    nothing_is_missed(0o2770, 4_000, 3);
}

/// What a hostile or a broken machine can leave in the place of a segment.
fn damage(bytes: &mut Vec<u8>, how: u32) {
    match how {
        0 => bytes.clear(),
        1 => bytes.truncate(100),
        2 => bytes.truncate(bytes.len() / 2),
        3 => bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 31 + 7) as u8),
        4 => bytes[8] -= 1,
        5 => bytes.iter_mut().skip(64).for_each(|byte| *byte ^= 0x5a),
        6 => bytes.iter_mut().skip(64).step_by(64).for_each(|byte| *byte = 1),
        7 => bytes[48] ^= 1,
        _ => bytes[48..56].fill(0),
    }
}

#[test]
fn a_segment_that_is_damaged_is_not_believed() {
    let dir = dir();
    let mut me = Worker::join(dir.path(), &ID);
    let generation = me.make(Handle(3));
    let (peer, holder) = peer_with_laps(dir.path(), generation, LAPS);
    peer.kill();
    let file = only_segment(dir.path());
    let whole = fs::read(&file).expect("it is there");
    let seen = |what: &str| {
        let found = open_all(dir.path()).next().expect("one device file").state;
        let directory = Folder::open(Some(dir.path())).expect("the directory");
        let newcomer = Ledger::join(&directory, &ID, &Default::default(), false, Default::default()).expect(what);
        let mut view = newcomer.view();
        view.refresh_all();
        // It does not leave, which would clear the dead one's file away.
        [&found, view.state()].map(|state| (state.is_lost(), serials(state, holder)))
    };
    assert_eq!(seen("whole"), [(false, vec![Serial(1)]), (false, vec![Serial(1)])]);
    for how in 0..9 {
        let mut bytes = whole.clone();
        damage(&mut bytes, how);
        fs::write(&file, bytes).expect("ours");
        assert!(seen("damaged").iter().all(|(lost, _)| *lost), "{how}");
    }
    fs::write(&file, whole).expect("ours");
    assert!(seen("whole").iter().all(|(lost, _)| !lost));
}

#[test]
fn a_segment_that_is_truncated_under_its_holder_harms_nobody() {
    let dir = dir();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2770)).expect("ours");
    let mut me = Worker::join(dir.path(), &ID);
    let generation = me.make(Handle(3));
    let held = me.acquire(Handle(3), generation, Origin::Imported);
    for _ in 0..3000 {
        let serial = me.acquire(Handle(3), generation, Origin::Imported);
        me.release(serial);
    }
    let mut other = Worker::join(dir.path(), &ID);
    other.view.refresh_all();
    assert_eq!((serials(other.view.state(), me.ledger.me()), other.view.state().is_lost()), (vec![held], false));
    let file = only_segment(dir.path());
    let whole = fs::metadata(&file).expect("it is there").len();
    fs::OpenOptions::new().write(true).open(&file).and_then(|file| file.set_len(whole / 2)).expect("ours");
    let (holder, serial, stamp) = (me.ledger.me(), held, Stamp::default());
    assert_eq!(me.ledger.append(&Event::Released { holder, serial, how: How::Unimported, stamp }), None);
    other.view.refresh_all();
    assert!(other.view.state().is_lost());
}
