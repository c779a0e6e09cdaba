//! A merge that takes long says how far it is: on a terminal, and nowhere else.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::stat::Mode;
use tempfile::TempDir;

/// A log that comes slowly: a merge of more than a second.
fn feed(path: &Path) {
    let mut log = OpenOptions::new().write(true).open(path).expect("the reader opened it");
    for _ in 0..2 {
        writeln!(log, "not a finding").expect("read");
        thread::sleep(Duration::from_millis(1300));
    }
    writeln!(log, "nor this").expect("read");
}

/// What a merge of such a log prints on standard error, which is a terminal (script(1) makes one) or a file.
fn merge(terminal: bool) -> String {
    let dir = TempDir::new().expect("a directory");
    let fifo = dir.path().join("log");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).expect("a FIFO");
    let out = dir.path().join("typescript");
    let verbsguard = env!("CARGO_BIN_EXE_verbsguard");
    let mut command = Command::new(if terminal { "script" } else { verbsguard });
    if terminal {
        let merge = format!("'{verbsguard}' report '{}' >/dev/null", fifo.display());
        command.args(["-qec", &merge]).arg(&out).stdout(Stdio::null());
    } else {
        command.arg("report").arg(&fifo).stderr(File::create(&out).expect("a file")).stdout(Stdio::null());
    }
    let mut child = command.stdin(Stdio::null()).spawn().expect("started");
    feed(&fifo);
    assert!(child.wait().expect("it was our child").success());
    std::fs::read_to_string(&out).expect("text")
}

#[test]
fn a_terminal_shows_how_far_a_long_merge_is() {
    let shown = merge(true);
    assert!(shown.contains("\rmerging: 0 of 1 files, 0 MiB"), "{shown:?}");
}

#[test]
fn a_file_gets_none_of_it() {
    assert_eq!(merge(false), "");
}
