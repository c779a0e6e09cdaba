//! The ledger between processes: one order, killed writers, forks, rewriting, clearing away.

mod common;
#[path = "common/maps.rs"]
mod maps;

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use common::Peer;
use common::worker::Worker;
use tempfile::{NamedTempFile, TempDir};
use verbsguard_core::ledger::{Event, FileId, Generation, Handle, HolderId, Kind, Origin, Process, Stamp};
use verbsguard_core::site::Site;
use verbsguard_ledger::{Folder, Found, Ledger, clear, identity, open_all, this_process};

const ID: FileId = FileId { dev: 5, ino: 6, number: 0x7f3a };

fn dir() -> TempDir {
    // Where the ledger is in real life; a temporary folder is private.
    tempfile::tempdir_in("/dev/shm").expect("a directory")
}

fn join(peer: &Peer, dir: &TempDir) -> HolderId {
    let answer = peer.ask(&format!("join {} {}", ID.file_name(), dir.path().display()), None);
    HolderId(answer.parse().unwrap_or_else(|_| panic!("{answer}")))
}

fn read(dir: &Path) -> Found {
    open_all(dir).next().expect("one device file")
}

fn bytes_in(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir.join(ID.file_name())).expect("the folder").flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.blocks() * 512).sum()
}

#[test]
fn what_one_tells_the_others_see() {
    let dir = dir();
    let mut me = Worker::join(dir.path(), &ID);
    let peer = Peer::start();
    let other = join(&peer, &dir);
    let generation = me.make(Handle(3));
    assert_eq!(peer.ask(&format!("acquire 3 {}", generation.0), None), "1");
    me.view.refresh_all();
    let held = me.view.held_by_others(generation);
    assert_eq!(
        held.iter().map(|reference| (reference.holder, reference.origin)).collect::<Vec<_>>(),
        [(other, Origin::Imported)]
    );
    assert_eq!(me.view.process(other).process.expect("it told").pid, peer.pid());

    peer.kill();
    assert!(me.view.held_by_others(generation).is_empty(), "the dead hold nothing");
    let found = read(dir.path());
    assert_eq!(
        found.holders.iter().map(|holder| (holder.id, holder.alive)).collect::<Vec<_>>(),
        [(me.ledger.me(), true), (other, false)]
    );
    assert_eq!(found.state.references(generation).count(), 1, "but what it left is on record");
}

#[test]
fn stacks_of_others_can_be_read_also_after_their_death() {
    let dir = dir();
    let peer = Peer::start();
    let holder = join(&peer, &dir);
    assert_eq!(peer.ask("stack 5", None), "told");
    peer.kill();
    let found = read(dir.path());
    let frames = found.holder(holder).expect("a holder").file.stack(Site(5));
    let places: Vec<_> = frames.iter().map(|frame| (frame.module.as_str(), frame.offset)).collect();
    assert_eq!(places, [("/bin/app", 16), ("", 0), ("/bin/app", 32)]);
}

#[test]
fn a_child_of_fork_writes_nothing_and_keeps_nobody_alive() {
    let dir = dir();
    let peer = Peer::start();
    let holder = join(&peer, &dir);
    let before = read(dir.path()).state.last_seq();
    let answer = peer.ask("fork", None);
    let (child, said) = answer.split_once(' ').expect("two words");
    assert_eq!(said, "None false");
    assert_eq!(read(dir.path()).state.last_seq(), before);
    assert!(read(dir.path()).holder(holder).is_some_and(|holder| holder.alive));
    peer.kill();
    let alive = Path::new("/proc").join(child).exists();
    assert!(alive && !read(dir.path()).holder(holder).is_some_and(|holder| holder.alive));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child.parse().expect("a pid")).expect("a pid"),
        rustix::process::Signal::KILL,
    )
    .expect("it lived");
}

#[test]
fn writers_killed_anywhere_leave_a_ledger_that_goes_on() {
    let kills: u32 = std::env::var("VERBSGUARD_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let dir = dir();
    let place = format!("{} {}", ID.file_name(), dir.path().display());
    let survivors = [Peer::start(), Peer::start()];
    survivors.iter().for_each(|peer| {
        join(peer, &dir);
    });
    let killers = [Peer::start(), Peer::start()];
    killers.iter().for_each(|killer| killer.tell(&format!("kill {} {place}", kills / 2), None));
    for _ in 0..20 {
        survivors.iter().for_each(|peer| peer.tell("steps 200", None));
        survivors.iter().for_each(|peer| assert_eq!(peer.answer(), "done"));
    }
    killers.iter().for_each(|killer| assert_eq!(killer.answer(), "done"));
    survivors.iter().for_each(|peer| assert_eq!(peer.ask("steps 100", None), "done"));
    let mut fresh = Worker::join(dir.path(), &ID);
    let digest = fresh.digest();
    survivors.iter().for_each(|peer| assert_eq!(peer.ask("digest", None), digest));
    // Who leaves clears away what the killed left, most of whom did not live long enough to do it.
    fresh.ledger.leave(Stamp::default());
    let found = read(dir.path());
    assert!(!found.state.is_lost() && found.state.whole());
    assert!(found.holders.len() <= 256 + 4, "{} holders are remembered", found.holders.len());
    let bytes = bytes_in(dir.path());
    assert!(bytes < 10 << 20, "{bytes} bytes");
}

#[test]
fn a_long_run_keeps_a_small_ledger() {
    let dir = dir();
    let mut worker = Worker::join(dir.path(), &ID);
    let cycles = std::env::var("VERBSGUARD_CYCLES").ok().and_then(|n| n.parse().ok()).unwrap_or(50_000);
    let mut most = 0;
    for i in 0..cycles {
        let generation = worker.make(Handle(1));
        let serial = worker.acquire(Handle(1), generation, Origin::Owned);
        worker.destroy(Handle(1), generation);
        worker.release(serial);
        if i % 1000 == 0 {
            most = most.max(bytes_in(dir.path()));
        }
    }
    assert!(most <= 1 << 20, "{most} bytes");
    let mut fresh = Worker::join(dir.path(), &ID);
    assert_eq!(worker.digest(), fresh.digest());
}

#[test]
fn a_live_object_survives_rewriting_and_keeps_its_generation() {
    let dir = dir();
    let mut worker = Worker::join(dir.path(), &ID);
    let old = worker.make(Handle(0));
    let serial = worker.acquire(Handle(0), old, Origin::Owned);
    (0..3000).for_each(|_| worker.step());
    let found = read(dir.path());
    let object = found.state.object(Kind::Pd, Handle(0)).expect("it lives");
    assert_eq!((object.generation, object.born.holder), (old, worker.ledger.me()));
    assert_eq!(found.state.references(old).map(|reference| reference.serial).collect::<Vec<_>>(), [serial]);
}

#[test]
fn no_holder_gets_the_number_of_another() {
    let dir = dir();
    let mut seen = HashSet::new();
    for _ in 0..100 {
        let worker = Worker::join(dir.path(), &ID);
        assert!(seen.insert(worker.ledger.me()));
        worker.ledger.leave(Stamp::default());
    }
    let left = read(dir.path()).holders.len();
    assert!(left <= 2, "{left} files of holders that left");
}

/// A holder of a real device file: here a regular file's open.
fn hold(dir: &Path, node: &NamedTempFile) -> (Ledger, fs::File) {
    let file = OpenOptions::new().read(true).write(true).open(node.path()).expect("the node");
    let id = identity::identify(file.as_raw_fd()).expect("an identity");
    let process = this_process("mlx5_0", file.as_raw_fd(), &id);
    assert!(process.listed, "a regular file's locks are listed");
    let folder = Folder::open(Some(dir)).expect("the directory");
    (Ledger::join(&folder, &id, &process, true, Stamp::default()).expect("joined"), file)
}

#[test]
fn the_last_to_leave_a_dead_device_file_removes_its_ledger() {
    let (dir, node) = (dir(), NamedTempFile::new().expect("a file"));
    let (first, file) = hold(dir.path(), &node);
    let second = {
        let process = this_process("mlx5_0", file.as_raw_fd(), first.id());
        let folder = Folder::open(Some(dir.path())).expect("the directory");
        Ledger::join(&folder, first.id(), &process, false, Stamp::default()).expect("joined")
    };
    first.leave(Stamp::default());
    assert_eq!(open_all(dir.path()).count(), 1, "another holder lives");
    drop(file);
    second.leave(Stamp::default());
    // A peer that another test is just starting has our descriptors until it execs: then whoever comes next clears.
    let folder = Folder::open(Some(dir.path())).expect("the directory");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while open_all(dir.path()).count() != 0 {
        assert!(std::time::Instant::now() < deadline, "left over");
        clear(&folder, &|_| None);
    }
}

#[test]
fn a_ledger_stays_while_the_device_file_is_open_anywhere() {
    let (dir, node) = (dir(), NamedTempFile::new().expect("a file"));
    let (ledger, file) = hold(dir.path(), &node);
    ledger.leave(Stamp::default());
    let folder = Folder::open(Some(dir.path())).expect("the directory");
    clear(&folder, &|_| None);
    assert_eq!(open_all(dir.path()).count(), 1, "its descriptor is open");
    drop(file);
    clear(&folder, &|_| Some(true));
    assert_eq!(open_all(dir.path()).count(), 0);
}

#[test]
fn a_living_holders_ledger_is_never_cleared() {
    let (dir, node) = (dir(), NamedTempFile::new().expect("a file"));
    let (ledger, _file) = hold(dir.path(), &node);
    clear(&Folder::open(Some(dir.path())).expect("the directory"), &|_| Some(true));
    assert_eq!(open_all(dir.path()).count(), 1);
    ledger.leave(Stamp::default());
}

#[test]
fn directories_that_others_can_change_are_refused() {
    let dir = dir();
    let refused = |path: &Path| Folder::open(Some(path)).expect_err("refused").to_string();

    let open = dir.path().join("open");
    fs::create_dir(&open).expect("made");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("ours");
    assert!(refused(&open).contains("written by everybody"), "{}", refused(&open));

    let link = dir.path().join("link");
    symlink(dir.path(), &link).expect("made");
    assert!(refused(&link).contains("not a directory"), "{}", refused(&link));

    let file = dir.path().join("file");
    fs::write(&file, "").expect("made");
    assert!(refused(&file).contains("not a directory"), "{}", refused(&file));
    let nowhere = dir.path().join("no/such/parent");
    assert!(refused(&nowhere).contains("No such file"), "{}", refused(&nowhere));
}

#[test]
fn a_group_shared_directory_serves_without_being_mapped() {
    let dir = dir();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2770)).expect("ours");
    let peers = [Peer::start(), Peer::start()];
    peers.iter().for_each(|peer| {
        join(peer, &dir);
    });
    peers.iter().for_each(|peer| peer.tell("steps 200", None));
    peers.iter().for_each(|peer| assert_eq!(peer.answer(), "done"));
    assert_eq!(peers[0].ask("digest", None), peers[1].ask("digest", None));
    assert_eq!(maps::mapped_in(dir.path(), peers[0].pid()), 1, "only the page that says that it lives");
    for entry in fs::read_dir(dir.path().join(ID.file_name())).expect("the folder").flatten() {
        assert_eq!(entry.metadata().expect("a file").mode() & 0o777, 0o660, "{:?}", entry.file_name());
    }
}

/// What a hostile or a broken machine can leave in the place of a file.
fn damage(file: &Path, how: u32) {
    let mut bytes = fs::read(file).expect("a file");
    match how {
        0 => bytes.clear(),
        1 => bytes.truncate(100),
        2 => bytes.truncate(bytes.len() / 2),
        3 => bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 31 + 7) as u8),
        4 => bytes[8] += 1,
        5 => bytes.iter_mut().skip(64).for_each(|byte| *byte ^= 0x5a),
        _ => bytes.iter_mut().skip(64).step_by(64).for_each(|byte| *byte = 1),
    }
    fs::write(file, bytes).expect("ours");
}

#[test]
fn damaged_files_harm_nobody_and_are_not_believed() {
    for row in ["log.", "refs-", "holder-"] {
        for how in 0..7 {
            let dir = dir();
            let mut worker = Worker::join(dir.path(), &ID);
            worker.make(Handle(1));
            worker.acquire(Handle(1), Generation(1), Origin::Owned);
            worker.ledger.leave(Stamp::default());
            let folder = dir.path().join(ID.file_name());
            let entries = fs::read_dir(&folder).expect("the folder").flatten();
            let files = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(row));
            files.for_each(|entry| damage(&entry.path(), how));

            let found = read(dir.path());
            assert!(row != "log." || found.state.is_lost() || !found.state.whole() || how == 6, "{row} {how}");
            // A newcomer is served or told why not; either way nothing happens to it.
            let directory = Folder::open(Some(dir.path())).expect("the directory");
            if let Ok(ledger) = Ledger::join(&directory, &ID, &Default::default(), false, Stamp::default()) {
                let mut view = ledger.view();
                view.refresh_all();
                ledger.leave(Stamp::default());
            }
        }
    }
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let dir = dir();
    let path = dir.path().display();
    let mount = format!(
        "mount -t tmpfs -o size=64k,mode=700 none {path} && exec \"$0\" --ignored --exact on_a_small_disk --nocapture"
    );
    let run = std::process::Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &mount])
        .arg(std::env::current_exe().expect("a path"))
        .env("VERBSGUARD_TEST_DIR", dir.path())
        .output()
        .expect("unshare(1) of util-linux");
    assert!(run.status.success(), "{run:?}");
}

#[test]
#[ignore = "runs on a disk that another test makes"]
fn on_a_small_disk() {
    let dir = std::env::var_os("VERBSGUARD_TEST_DIR").expect("given");
    let mut worker = Worker::join(Path::new(&dir), &ID);
    let me = worker.ledger.me();
    let stamp = Stamp::default();
    let born =
        |handle| Event::Born { kind: Kind::Pd, handle: Handle(handle), second_id: None, holder: me, stamp, seen: true };
    let written = (0..10_000).take_while(|handle| worker.ledger.append(&born(*handle)).is_some()).count();
    assert!((200..2000).contains(&written), "{written} were written to 64 KiB");
    worker.view.refresh_all();
    assert!(worker.view.state().is_lost() && !worker.view.state().whole());
    assert_eq!(worker.view.state().living().count(), written);

    let folder = Folder::open(Some(Path::new(&dir))).expect("the directory");
    fs::write(Path::new(&dir).join("filler"), vec![1; 1 << 16]).expect_err("the disk is full");
    let other = FileId { number: 9, ..ID };
    let error = Ledger::join(&folder, &other, &Process::default(), true, stamp).err().expect("no room").to_string();
    assert!(error.starts_with("only this process is seen: ") && error.contains("No space left"), "{error}");
}
