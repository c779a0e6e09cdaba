//! Device-file identity, on a regular file in place of a device node: for locks the kernel makes no difference.

mod common;

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use common::Peer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tempfile::NamedTempFile;
use verbsguard_core::ledger::FileId;
use verbsguard_ledger::identity::{self, Unseen};
use verbsguard_ledger::strangers::{self, Sighting};

fn node() -> NamedTempFile {
    NamedTempFile::new().expect("a temporary file")
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("the node")
}

fn identify(file: &File) -> FileId {
    identity::identify(file.as_raw_fd()).expect("an identity")
}

#[test]
fn copies_of_a_descriptor_are_one_device_file_and_opens_are_not() {
    let node = node();
    let (first, second) = (open(node.path()), open(node.path()));
    let dup = first.try_clone().expect("dup");
    let id = identify(&first);
    assert_eq!(id, identify(&dup));
    assert_ne!(id, identify(&second));
    assert_eq!((id.dev, id.ino), (identify(&second).dev, identify(&second).ino));

    let peer = Peer::start();
    assert_eq!(peer.ask("identify", Some(dup.as_fd())), id.file_name());
    assert_eq!(peer.ask("identify", Some(second.as_fd())), identify(&second).file_name());
    // The first descriptor may go: the others still tell.
    drop(first);
    assert_eq!(identify(&dup), id);
}

#[test]
fn two_processes_that_choose_at_once_choose_the_same() {
    let node = node();
    let peers = [Peer::start(), Peer::start()];
    for round in 0..3000 {
        let file = open(node.path());
        let soon = UNIX_EPOCH.elapsed().expect("a clock") + Duration::from_micros(200);
        let command = format!("identify {}", soon.as_nanos());
        peers.iter().for_each(|peer| peer.tell(&command, Some(file.as_fd())));
        let [a, b] = peers.each_ref().map(Peer::answer);
        assert_eq!(a, b, "round {round}");
        assert_eq!(a, identify(&file).file_name(), "round {round}");
    }
}

#[test]
fn threads_that_choose_at_once_choose_the_same_while_others_choose_for_other_opens() {
    let node = node();
    let (first, second) = (open(node.path()), open(node.path()));
    let ids = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|i| {
                let file = if i % 2 == 0 { &first } else { &second };
                scope.spawn(move || identify(file))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(*id, ids[i % 2]);
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_identity_is_found_among_many_opens() {
    let node = node();
    let files: Vec<_> = (0..200).map(|_| open(node.path())).collect();
    let ids: Vec<_> = files.iter().map(identify).collect();
    let peer = Peer::start();
    for i in [0, 99, 199] {
        assert_eq!(peer.ask("identify", Some(files[i].as_fd())), ids[i].file_name());
    }
}

#[test]
fn an_identity_lives_as_long_as_any_descriptor_even_in_flight() {
    let node = node();
    let probe = open(node.path());
    let owner = Peer::start();
    let file = open(node.path());
    let id: FileId = owner.ask("identify", Some(file.as_fd())).parse().expect("an identity");
    assert_eq!(owner.ask("hold", Some(file.as_fd())), "held");
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket pair");
    common::send(ours.as_fd(), "identify", Some(file.as_fd()));
    drop(file);
    owner.kill();
    // Nobody has a descriptor any more: it is only in flight.
    assert!(identity::is_alive(probe.as_raw_fd(), &id).expect("an answer"));
    drop((ours, theirs));
    // A peer that another test is just starting has our descriptors until it execs.
    let deadline = Instant::now() + Duration::from_secs(10);
    while identity::is_alive(probe.as_raw_fd(), &id).expect("an answer") {
        assert!(Instant::now() < deadline, "still alive");
    }
}

#[test]
fn a_reader_that_comes_after_the_owners_death_finds_the_same_identity() {
    let node = node();
    let file = open(node.path());
    let owner = Peer::start();
    let id = owner.ask("identify", Some(file.as_fd()));
    owner.kill();
    assert_eq!(Peer::start().ask("identify", Some(file.as_fd())), id);
}

#[test]
fn a_closed_or_reused_number_is_noticed() {
    let (node, elsewhere) = (node(), self::node());
    let file = open(node.path());
    let (id, fd) = (identify(&file), file.as_raw_fd());
    assert!(identity::still_same(fd, &id) && identity::is_of(fd, &id));
    let other = open(elsewhere.path());
    assert!(!identity::still_same(other.as_raw_fd(), &id));
    // Another open of the same node: only the exact question sees it.
    let again = open(node.path());
    assert!(identity::still_same(again.as_raw_fd(), &id) && !identity::is_of(again.as_raw_fd(), &id));
    drop(file);
    assert!(!identity::is_of(again.as_raw_fd(), &id));
}

#[test]
fn what_cannot_be_locked_is_unseen_and_says_why() {
    let node = node();
    let read_only = File::open(node.path()).expect("the node");
    assert!(matches!(identity::identify(read_only.as_raw_fd()), Err(Unseen::ReadOnly)));
    let closed = open(node.path()).as_raw_fd();
    let error = identity::identify(closed + 1000).expect_err("a closed descriptor");
    assert!(error.to_string().contains("Bad file descriptor"), "{error}");
}

#[test]
fn a_process_that_holds_it_is_seen_and_one_that_opened_the_node_is_not() {
    let node = node();
    let (file, other) = (open(node.path()), open(node.path()));
    let (holder, opener) = (Peer::start(), Peer::start());
    assert_eq!(holder.ask("hold", Some(file.as_fd())), "held");
    assert_eq!(opener.ask("hold", Some(other.as_fd())), "held");
    let id = identify(&file);
    let wanted = [Sighting { pid: holder.pid(), guarded: false }];
    // A peer that another test is just starting has our descriptors until it execs.
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let found = strangers::look(file.as_raw_fd(), &id).expect("/proc");
        if found.holders == wanted {
            break;
        }
        assert!(Instant::now() < deadline, "{found:?}");
    }
}
