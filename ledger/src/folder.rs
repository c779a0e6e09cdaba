//! The ledger's directory, and which files in it are trusted.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use std::{fmt, fs, io};

use crate::sys::{self, Owner, Range};

/// What is locked of a file that is being made; a holder's life and a shared log's writers lock the byte before.
const DRAFT: Range = Range { start: 1, len: 1 };

/// Why there is no ledger; the guard goes on and sees its own process only.
#[derive(Debug)]
pub struct Degraded(String);

impl Degraded {
    pub(crate) fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        Degraded(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only this process is seen: {}", self.0)
    }
}

impl std::error::Error for Degraded {}

/// A folder of ledger files: the directory itself, or a device file's own folder in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    trust: Trust,
}

/// Whose files in a folder are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Our own: nobody else can change them, so they may be mapped.
    Own,
    /// A group's: they may change size at any time, so they are read and written, not mapped.
    Group,
    /// Anybody's, for reading: every byte is taken as hostile anyhow.
    Any,
}

/// Where the ledger is when nobody says otherwise: the same for login, batch, cron and sudo.
pub fn auto() -> PathBuf {
    // SAFETY: geteuid always succeeds and touches no memory.
    PathBuf::from(format!("/dev/shm/verbsguard-{}", unsafe { libc::geteuid() }))
}

fn euid() -> u32 {
    // SAFETY: as above.
    unsafe { libc::geteuid() }
}

/// What is to be done before this process works with files.
static BEFORE_FILE_WORK: OnceLock<fn()> = OnceLock::new();

/// Before this crate opens, reads or writes a file, it calls `prepare` on the thread that does so: nearly every event is
/// told without. Only the first word counts.
pub fn before_file_work(prepare: fn()) {
    // A second guard of this process, in a forked child, asks for the same.
    let _ = BEFORE_FILE_WORK.set(prepare);
}

/// File work begins.
pub(crate) fn at_files() {
    if let Some(prepare) = BEFORE_FILE_WORK.get() {
        prepare();
    }
}

impl Folder {
    /// Opens the directory given by `ledger=DIR`, or without one the user's own, which is made if it is not there.
    pub fn open(dir: Option<&Path>) -> Result<Self, Degraded> {
        match dir {
            Some(dir) => Self::given(dir),
            None => Self::private(&auto()),
        }
    }

    /// A directory to read only.
    pub fn to_read(path: &Path) -> Self {
        Folder { path: path.to_owned(), trust: Trust::Any }
    }

    fn private(path: &Path) -> Result<Self, Degraded> {
        make(path, 0o700).map_err(|error| Degraded::io("make", path, &error))?;
        let found = look(path)?;
        if !found.is_dir() || found.uid() != euid() || found.mode() & 0o077 != 0 {
            let path = path.display();
            return Err(Degraded(format!(
                "{path} is not a private folder of this user: remove it, or give ledger=DIR"
            )));
        }
        Ok(Folder { path: path.to_owned(), trust: Trust::Own })
    }

    fn given(path: &Path) -> Result<Self, Degraded> {
        make(path, 0o700).map_err(|error| Degraded::io("make", path, &error))?;
        let found = look(path)?;
        if !found.is_dir() {
            return Err(Degraded(format!("{} is not a directory", path.display())));
        }
        if found.mode() & 0o002 != 0 {
            return Err(Degraded(format!("{0} can be written by everybody: chmod o-w {0}", path.display())));
        }
        let shared = found.uid() != euid() || found.mode() & 0o020 != 0;
        Ok(Folder { path: path.to_owned(), trust: if shared { Trust::Group } else { Trust::Own } })
    }

    /// A device file's folder.
    pub fn device_file(&self, name: &str) -> Result<Self, Degraded> {
        at_files();
        let path = self.path.join(name);
        let mode = if self.is_shared() { 0o2770 } else { 0o700 };
        make(&path, mode).map_err(|error| Degraded::io("make", &path, &error))?;
        let found = look(&path)?;
        if !self.trusts(&found) || !found.is_dir() {
            return Err(Degraded(format!("{} is not a folder of this user", path.display())));
        }
        Ok(Folder { path, trust: self.trust })
    }

    /// An existing folder in this one; none where it is not to be trusted.
    pub fn existing(&self, name: &str) -> Option<Self> {
        at_files();
        let path = self.path.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        (found.is_dir() && self.trusts(&found)).then_some(Folder { path, trust: self.trust })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether others of a group write here.
    pub fn is_shared(&self) -> bool {
        self.trust == Trust::Group
    }

    fn trusts(&self, found: &Metadata) -> bool {
        let open_to_all = found.mode() & 0o002 != 0;
        match self.trust {
            Trust::Own => found.uid() == euid() && !open_to_all,
            Trust::Group => !open_to_all,
            Trust::Any => true,
        }
    }

    /// Opens a file for reading, or reading and writing. Symbolic links, and others' files in a private folder, are not
    /// opened; nor does a FIFO make us wait.
    pub fn file(&self, name: &str, write: bool) -> io::Result<File> {
        at_files();
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(self.path.join(name))?;
        let found = file.metadata()?;
        if found.is_file() && self.trusts(&found) { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    /// Makes a file under a name that nobody uses, for [`Folder::publish`]. It is locked while its descriptor or a mapping
    /// of it lives, so that others see when its maker was killed.
    pub fn draft(&self) -> io::Result<(String, File)> {
        at_files();
        let name = format!("new-{:016x}", sys::random()?);
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(self.path.join(&name))?;
        sys::try_lock(file.as_raw_fd(), Owner::Description, DRAFT)?;
        if self.is_shared() {
            file.set_permissions(fs::Permissions::from_mode(0o660))?;
        }
        Ok((name, file))
    }

    /// Gives a draft a name, unless a file has it already.
    pub fn link(&self, draft: &str, name: &str) -> io::Result<()> {
        at_files();
        fs::hard_link(self.path.join(draft), self.path.join(name))
    }

    /// Gives a draft its only name, unless a file has it already; the draft is gone either way.
    pub fn publish(&self, draft: &str, name: &str) -> io::Result<()> {
        let result = self.link(draft, name);
        self.remove(draft);
        result
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) {
        at_files();
        // If it cannot be removed now, whoever comes next tries again.
        let _ = fs::remove_file(self.path.join(name));
    }

    /// Removes the drafts of processes that were killed.
    pub fn remove_drafts(&self) {
        for name in self.names().iter().filter(|name| name.starts_with("new-")) {
            if self.is_abandoned(name).unwrap_or(false) {
                self.remove(name);
            }
        }
    }

    fn is_abandoned(&self, draft: &str) -> io::Result<bool> {
        let file = self.file(draft, false)?;
        let age = SystemTime::now().duration_since(file.metadata()?.modified()?).unwrap_or_default();
        // A new one may not be locked yet.
        Ok(age > Duration::from_secs(1) && sys::conflict(file.as_raw_fd(), Owner::Description, DRAFT)?.is_none())
    }

    /// Removes the folder itself, if it is empty.
    pub fn remove_itself(&self) {
        at_files();
        let _ = fs::remove_dir(&self.path);
    }

    /// The names in it, as far as they are text.
    pub fn names(&self) -> Vec<String> {
        at_files();
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) if mode & 0o070 != 0 => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !path.exists() => Err(error),
        _ => Ok(()),
    }
}

fn look(path: &Path) -> Result<Metadata, Degraded> {
    fs::symlink_metadata(path).map_err(|error| Degraded::io("look at", path, &error))
}
