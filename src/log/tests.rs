use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;

use super::quiet::write_all;
use super::stderr::Channel;
use super::*;
use crate::call::errno;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("verbsguard-log-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn log_at(pattern: &str) -> Log {
    let options = Options::parse(&[&format!("log='{pattern}'")]).0;
    Log::at(&options, Place { pid: 42, host: "n1".into(), comm: "app".into(), rank: None })
}

fn set_errno(value: c_int) {
    // SAFETY: always valid for this thread.
    unsafe { *libc::__errno_location() = value };
}

/// A number that a channel takes for standard error, with nothing else in the test run that uses it.
fn descriptor(file: impl Into<OwnedFd>) -> c_int {
    file.into().into_raw_fd()
}

fn put_there(file: impl Into<OwnedFd>, number: c_int) {
    let file = file.into();
    // SAFETY: `number` is a descriptor of this test alone.
    assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), number) }, number);
}

fn close(number: c_int) {
    // SAFETY: a descriptor of this test alone.
    assert_eq!(unsafe { libc::close(number) }, 0);
}

#[test]
fn a_path_log_is_appended_to() {
    let folder = folder("append");
    let log = log_at(&format!("{}/%c.%p", folder.display()));
    log.write("one\n");
    std::fs::rename(folder.join("app.42"), folder.join("old")).expect("renamed");
    log.write("two\n");
    log.write("three\n");
    let read = |name| std::fs::read_to_string(folder.join(name)).expect("a log");
    assert_eq!((read("old"), read("app.42")), ("one\n".into(), "two\nthree\n".into()));
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn many_writers_do_not_cut_each_other_s_blocks() {
    let folder = folder("many");
    let log = log_at(&format!("{}/log", folder.display()));
    let block = |number: usize| format!("{}\n", number.to_string().repeat(5000));
    std::thread::scope(|scope| {
        for number in 1..5 {
            let log = &log;
            scope.spawn(move || (0..20).for_each(|_| log.write(&block(number))));
        }
    });
    let text = std::fs::read_to_string(folder.join("log")).expect("a log");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 80);
    assert!(lines.iter().all(|line| (1..5).any(|number| *line == block(number))));
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_log_that_cannot_be_written_is_told_by_its_errno() {
    assert_eq!(append("/nowhere/at/all", b"x"), Err(libc::ENOENT));
    assert_eq!(append("/dev/full", b"x"), Err(libc::ENOSPC));
    assert_eq!(append("/tmp/\0", b"x"), Err(libc::EINVAL));
}

#[test]
fn a_closed_pipe_raises_no_signal_and_leaves_neither_signal_nor_errno() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let channel = Channel::new(descriptor(writer));
    // Rust's runtime ignores SIGPIPE; a C program does not.
    // SAFETY: the default action; a signal that got through would end this test run.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    set_errno(libc::ENOTTY);
    let quiet = Quiet::new();
    channel.write(b"nobody reads this");
    drop(quiet);
    assert_eq!(errno(), libc::ENOTTY);
    // SAFETY: as Rust's runtime had it.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

#[test]
fn a_full_pipe_is_waited_for() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let fd = writer.as_raw_fd();
    // SAFETY: this test's own descriptor.
    unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
    let big = vec![b'x'; 1 << 18];
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).map(|_| all.len())
    });
    assert_eq!(write_all(fd, &big), Ok(()));
    drop(writer);
    assert_eq!(reading.join().expect("a thread").expect("read"), big.len());
}

#[test]
fn our_descriptor_is_high_and_survives_the_program_s() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let number = descriptor(writer);
    let channel = Channel::new(number);
    channel.remember();
    channel.open();
    close(number);
    channel.write(b"still heard");
    let own = channel.own();
    assert!(own >= 500, "{own}");
    // SAFETY: the channel is not used any more, so its descriptor can end here.
    drop(unsafe { OwnedFd::from_raw_fd(own) });
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("read");
    assert_eq!(text, "still heard");
}

#[test]
fn a_number_that_the_program_took_over_is_not_written_to() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    // Nothing to read is to be an error, not a wait.
    // SAFETY: this test's own descriptor.
    unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let number = descriptor(writer);
    let channel = Channel::new(number);
    channel.open();
    let folder = folder("taken");
    let data = folder.join("data");
    put_there(std::fs::File::create(&data).expect("a file"), channel.own());
    channel.write(b"heard");
    let mut text = [0; 5];
    reader.read_exact(&mut text).expect("read");
    assert_eq!((&text, std::fs::read(&data).expect("a file")), (b"heard", Vec::new()));
    put_there(std::fs::File::create(&data).expect("a file"), channel.own());
    put_there(std::fs::File::create(&data).expect("a file"), number);
    channel.write(b"nowhere to go");
    assert_eq!(std::fs::read(&data).expect("a file"), b"");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_data_file_under_our_number_is_left_alone() {
    let folder = folder("data");
    let start = descriptor(std::fs::File::open("/dev/null").expect("/dev/null"));
    let channel = Channel::new(start);
    channel.remember();
    let mut data = std::fs::File::create(folder.join("data")).expect("a file");
    data.write_all(b"payload").expect("written");
    put_there(data, start);
    channel.write(b"report");
    assert_eq!(std::fs::read(folder.join("data")).expect("a file"), b"payload");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_log_file_under_our_number_is_written_to() {
    let folder = folder("redirected");
    let start = descriptor(std::fs::File::open("/dev/null").expect("/dev/null"));
    let channel = Channel::new(start);
    channel.remember();
    let path = folder.join("log");
    put_there(std::fs::File::options().create(true).append(true).open(&path).expect("a file"), start);
    channel.write(b"report");
    assert_eq!(std::fs::read(&path).expect("a file"), b"report");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_relative_log_stays_where_it_was() {
    assert_eq!(absolute("/l/%p"), "/l/%p");
    let here = std::env::current_dir().expect("a folder");
    assert_eq!(absolute("%p.log"), format!("{}/%p.log", here.display()));
}
