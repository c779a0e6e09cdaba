//! Where reports go. One block or line is one append, and the program notices none of it.

use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use verbsguard_core::options::{Format, Log as Target, Options};
use verbsguard_core::report::{Place, expand};
use verbsguard_core::track::Me;

mod quiet;
mod stderr;

use quiet::Quiet;

use stderr::STDERR;

/// Remembers what standard error is. To be called when the library is loaded; opens nothing.
pub fn remember_stderr() {
    STDERR.remember();
}

/// The log of this process.
pub struct Log {
    /// A path pattern, absolute; `None` is stderr.
    pattern: Option<String>,
    place: Place,
    colors: bool,
    complained: AtomicBool,
}

impl Log {
    /// Where the options say. Opens no file; where reports go to stderr, keeps a descriptor of its own for it.
    pub fn new(options: &Options, me: &Me) -> Log {
        let rank = Place::RANKS.iter().find_map(|name| std::env::var(name).ok());
        let place = Place { pid: me.pid, host: host_name(), comm: me.comm.clone(), rank };
        Log::at(options, place)
    }

    fn at(options: &Options, place: Place) -> Log {
        let _quiet = Quiet::new();
        let pattern = match &options.log {
            Target::Stderr => None,
            Target::Path(pattern) => Some(absolute(pattern)),
        };
        if pattern.is_none() {
            STDERR.open();
        }
        let colors = pattern.is_none() && options.format == Format::Text && wants_colors();
        Log { pattern, place, colors, complained: AtomicBool::new(false) }
    }

    /// Whether reports are read on a terminal by somebody who wants colours.
    pub fn is_terminal(&self) -> bool {
        self.colors
    }

    /// Appends a block or a line, whole. A log that cannot be written is told once, and the text goes to stderr.
    pub fn write(&self, text: &str) {
        let _quiet = Quiet::new();
        let Some(pattern) = &self.pattern else { return STDERR.write(text.as_bytes()) };
        let path = expand(pattern, &self.place);
        let Err(error) = append(&path, text.as_bytes()) else { return };
        if !self.complained.swap(true, Ordering::Relaxed) {
            let pid = self.place.pid;
            let error = std::io::Error::from_raw_os_error(error);
            let line =
                format!("=={pid}==verbsguard: cannot write the log {path}: {error}; it goes to stderr instead\n");
            STDERR.write(line.as_bytes());
        }
        STDERR.write(text.as_bytes());
    }

    /// One line for people, about the guard itself: always on stderr, so that a JSON log stays JSON.
    pub fn say(&self, message: &str) {
        let _quiet = Quiet::new();
        STDERR.write(format!("=={}==verbsguard: {message}\n", self.place.pid).as_bytes());
    }
}

/// Writes to a descriptor of the program's: the errno value where that fails.
pub fn write_to(fd: c_int, bytes: &[u8]) -> Result<(), c_int> {
    let _quiet = Quiet::new();
    quiet::write_all(fd, bytes)
}

/// This host's name.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as we say, and its last byte stays 0.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let len = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..len]).into_owned()
}

/// A program may change its folder; its log stays.
fn absolute(pattern: &str) -> String {
    let folder = std::env::current_dir().ok().filter(|_| !pattern.starts_with('/'));
    folder.map_or_else(
        || pattern.to_owned(),
        // The folder is no pattern: its percent signs are meant as they are.
        |folder| format!("{}/{pattern}", folder.to_string_lossy().replace('%', "%%")),
    )
}

fn wants_colors() -> bool {
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !declined && STDERR.is_terminal()
}

/// Opens for each append: no descriptor of ours stays open, and a log that was moved away is made anew.
fn append(path: &str, bytes: &[u8]) -> Result<(), c_int> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
    // SAFETY: the path is a string that lives here.
    let fd = unsafe { libc::open(path.as_ptr(), flags, 0o666) };
    if fd < 0 {
        return Err(crate::call::errno());
    }
    let written = quiet::write_all(fd, bytes);
    // SAFETY: opened here, so ours to close.
    unsafe { libc::close(fd) };
    written
}

#[cfg(test)]
mod tests;
