use verbsguard_core::ledger::{FileId, Handle, Kind, Stamp};
use verbsguard_core::site::Site;

use super::*;
use crate::view::View;

const FILE: u64 = 7;

fn folder(shared: bool) -> (tempfile::TempDir, Folder) {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let mode = if shared { 0o770 } else { 0o700 };
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).expect("it is ours");
    let folder = Folder::open(Some(dir.path())).expect("a folder");
    (dir, folder)
}

fn event(writer: HolderId) -> Event {
    let stamp = Stamp { time_ns: 1, site: Site(1) };
    Event::Born { kind: Kind::Pd, handle: Handle(1), second_id: None, holder: writer, stamp, seen: true }
}

fn log(folder: &Folder) -> Journal {
    Journal::new(folder, FILE, HolderId(0))
}

fn append(journal: &Journal, writer: HolderId) -> Told {
    journal.append(writer, &event(writer), &mut |_| None).expect("there is room")
}

/// Appends until the log is at this epoch or a later one.
fn go_to(journal: &Journal, writer: HolderId, epoch: u64) {
    while append(journal, writer).epoch < epoch {}
}

/// Appends once more to a log whose epoch is full; `meanwhile`, before it is rewritten.
fn append_late(journal: &Journal, writer: HolderId, mut meanwhile: impl FnMut()) -> Told {
    let mut once = true;
    let known = &mut |_: &Epoch| {
        if std::mem::take(&mut once) {
            meanwhile();
        }
        None
    };
    journal.append(writer, &event(writer), known).expect("there is room")
}

const ONE: HolderId = HolderId(1);
const OTHER: HolderId = HolderId(2);

#[test]
fn who_comes_late_with_an_epoch_writes_where_all_others_do() {
    for shared in [false, true] {
        let (_dir, folder) = folder(shared);
        for ahead in [2, 3, 5] {
            let (slow, fast) = (log(&folder), log(&folder));
            let now = append(&slow, ONE).epoch;
            let full = slow.epoch().expect("open").header.end();
            while append(&slow, ONE).seq < full {}
            let told = append_late(&slow, ONE, || go_to(&fast, OTHER, now + ahead));
            let newest = append(&fast, OTHER);
            assert_eq!((told.epoch, told.seq + 1), (newest.epoch, newest.seq), "shared: {shared}, {ahead} ahead");
            assert_eq!(append(&log(&folder), ONE).epoch, newest.epoch, "and a newcomer finds that");
        }
    }
}

#[test]
fn who_comes_late_with_the_first_epoch_writes_where_all_others_do() {
    let (_dir, folder) = folder(false);
    let fast = log(&folder);
    go_to(&fast, OTHER, 4);
    let slow = log(&folder);
    let header = Header { holder: HolderId(0), file: FILE, base: 0, snapshot: 0, capacity: 255, halves: false };
    assert!(slow.begin(FIRST, header, &[], false).expect("no other error").is_none(), "its name is taken for good");
    assert_eq!(append(&slow, ONE).epoch, append(&fast, OTHER).epoch);
}

#[test]
fn an_epoch_is_marked_before_the_name_of_its_follower_gets_free() {
    for number in [FIRST, FIRST + 1] {
        let (_dir, folder) = folder(false);
        let slow = log(&folder);
        append(&slow, ONE);
        go_to(&slow, ONE, number);
        let full = slow.epoch().expect("open");
        // Its follower's maker was killed before it could mark it.
        let header = Header { base: full.header.end(), ..full.header };
        assert!(slow.begin(number + 1, header, &[], false).expect("no error").is_some());
        // Those who come then know nothing of the one before.
        go_to(&log(&folder), OTHER, number + 3);
        assert!(!folder.names().contains(&slow.file_name(number + 1)), "its name is free");
        assert!(!slow.mark_followed(&full), "and it is marked");
    }
}

#[test]
fn a_maker_is_not_told_to_be_late_because_others_use_what_it_made() {
    let (_dir, folder) = folder(false);
    let (slow, fast) = (log(&folder), log(&folder));
    go_to(&slow, ONE, 2);
    append(&fast, OTHER);
    let full = slow.epoch().expect("open");
    while append(&slow, ONE).seq < full.header.end() {}
    let header = Header { base: full.header.end(), ..full.header };
    assert!(slow.begin(3, header, &[], false).expect("no error").is_some());
    // Stopped here, before it says so.
    assert_eq!(append(&fast, OTHER).epoch, 3);
    assert!(slow.mark_followed(&full));
}

#[test]
fn of_the_epochs_only_the_first_and_the_newest_stay() {
    let (_dir, folder) = folder(false);
    let journal = log(&folder);
    go_to(&journal, ONE, 6);
    let mut names = folder.names();
    names.sort_unstable();
    assert_eq!(names, ["log.1", "log.6"]);
}

#[test]
fn what_many_write_at_once_is_all_there() {
    const WRITERS: u32 = 6;
    const EACH: u32 = 1500;
    let (_dir, folder) = folder(false);
    let id = FileId { dev: 1, ino: 2, number: FILE };
    std::thread::scope(|scope| {
        for writer in 1..=WRITERS {
            let (journal, folder, id) = (log(&folder), &folder, &id);
            scope.spawn(move || {
                let mut view = View::new(folder, id, HolderId(writer));
                for i in 0..EACH {
                    let (handle, stamp) = (Handle(writer * EACH + i), Stamp { time_ns: 1, site: Site(1) });
                    let holder = HolderId(writer);
                    let born = Event::Born { kind: Kind::Pd, handle, second_id: None, holder, stamp, seen: true };
                    let told = journal.append(holder, &born, &mut |full| view.objects_of(full)).expect("there is room");
                    view.told(&born, told, &journal);
                    view.refresh();
                    assert!(view.state().object_told(Kind::Pd, handle, told.seq).is_some(), "{told:?}");
                }
            });
        }
    });
    let mut view = View::new(&folder, &id, HolderId(0));
    view.refresh();
    assert_eq!(view.state().living().count(), (WRITERS * EACH) as usize);
}
