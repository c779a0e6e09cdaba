//! What the tracker asks of this process and this host.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use once_cell::sync::OnceCell;
use verbsguard_core::ledger::{FileId, Handle, Kind};
use verbsguard_core::options::{Ledger, Options};
use verbsguard_core::site::Trace;
use verbsguard_core::track::{
    self, ContextOrigin, DeviceFile, Elsewhere, FileIndex, HolderFacts, Record, Reference, Sighting, Tracker,
};
use verbsguard_ledger::{Degraded, Folder, Glimpse, identity, strangers};

use crate::call;
use crate::peek;
use crate::record::Shared;

/// Handles are the lowest free numbers: a larger one at the address of a struct is no handle.
const PLAUSIBLE_HANDLE: u32 = 1 << 24;

/// An import that means nothing here may be meant for another device file. So much may the look at those cost: the call
/// is not to take much longer for it.
const LOOKING_ELSEWHERE: Duration = Duration::from_millis(5);

/// The process we are in, and its host.
pub struct World {
    /// Where ledgers lie; None where there are none.
    folder: Option<Folder>,
    /// Each user has a ledger of its own: processes of others are not in ours.
    is_private: bool,
    /// The first thing that keeps processes from seeing each other in whole.
    trouble: OnceCell<String>,
}

/// What a look at the processes that hold a device file found.
#[derive(Default)]
struct Holders {
    /// Some that do not tell what they do.
    strangers: Vec<u32>,
    /// Some that would tell, and have not yet: a forked child, one that was handed the descriptor and waits.
    silent: bool,
}

impl World {
    pub fn new(options: &Options) -> World {
        let (folder, is_private) = match &options.ledger {
            Ledger::Off => return World { folder: None, is_private: true, trouble: OnceCell::new() },
            Ledger::Auto => (Folder::open(None), true),
            Ledger::Dir(dir) => (Folder::open(Some(dir)), false),
        };
        let trouble = OnceCell::new();
        let folder = folder.map_err(|error| trouble.set(error.to_string())).ok();
        World { folder, is_private, trouble }
    }

    /// What keeps processes from seeing each other in whole, if that is not as asked for.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// An event of this process did not get into the ledger.
    pub fn missed(&self) {
        self.trouble.get_or_init(|| {
            "the ledger cannot be written (a full disk, a damaged file?): others do not see all that this process does".to_owned()
        });
    }

    /// The device file behind `cmd_fd`: one that a context of this process has already, or a new one.
    pub fn device_file<'a>(
        &self,
        tracker: &'a Tracker,
        cmd_fd: c_int,
        device: &str,
        origin: ContextOrigin,
    ) -> &'a DeviceFile {
        call::shield();
        let is_new = origin == ContextOrigin::Opened;
        let id = identity::identify(cmd_fd).map_err(|unseen| self.trouble.set(unseen.to_string())).ok();
        let known = (!is_new).then(|| tracker.open_descriptors()).into_iter().flatten();
        let known = known.filter(|_| id.is_none()).find(|(fd, _)| is_same_file(*fd, cmd_fd)).map(|(_, file)| file);
        tracker.find_or_add_file(
            |file| !is_new && (id.is_some() && file.id == id || Some(file.index) == known),
            |index| {
                let record = id.and_then(|id| self.join(&id, device, cmd_fd, is_new));
                DeviceFile::new(index, label(index, id), id, record)
            },
        )
    }

    /// Joins the ledger of a device file, as far as there is one.
    pub fn join(&self, id: &FileId, device: &str, cmd_fd: c_int, guarded: bool) -> Option<Box<dyn Record>> {
        call::shield();
        let folder = self.folder.as_ref()?;
        // Whoever comes next clears away what device files left that are gone.
        verbsguard_ledger::clear(folder, &verbsguard_ledger::is_dead_by(cmd_fd));
        let joined = Shared::join(folder, id, device, cmd_fd, guarded);
        let told = |error: Degraded| self.trouble.set(error.to_string());
        joined.map_err(told).ok().map(|shared| Box::new(shared) as Box<dyn Record>)
    }

    /// The processes that hold a device file and are not in its record. None where that cannot be asked.
    fn look(&self, file: &DeviceFile) -> Option<Holders> {
        call::shield();
        let (fd, id) = (file.descriptor()?, file.id?);
        let sightings = strangers::look(fd, &id).ok()?;
        let joined = file.living_pids();
        let mut found = Holders::default();
        for sighting in sightings.holders.iter().filter(|sighting| !joined.contains(&sighting.pid)) {
            if sighting.guarded && (!self.is_private || is_ours(sighting.pid)) {
                found.silent = true;
            } else {
                found.strangers.push(sighting.pid);
            }
        }
        for pid in &found.strangers {
            file.stranger(*pid, now());
        }
        Some(found)
    }
}

impl track::World for World {
    fn is_reborn(&self, reference: &Reference, address: usize, open_context: &dyn Fn(usize) -> bool) -> bool {
        let is_as_made = reference.kind == Kind::Pd || peek::is_as_made(address);
        let fields = fields(reference.kind, address).filter(|_| is_as_made);
        fields.is_some_and(|(context, handle)| handle < PLAUSIBLE_HANDLE && open_context(context))
    }

    fn is_intact(&self, reference: &Reference, address: usize) -> bool {
        fields(reference.kind, address).is_some_and(|(context, handle)| context != 0 && handle == reference.handle)
    }

    fn is_held_elsewhere(&self, file: &DeviceFile) -> Option<bool> {
        if file.is_held_by_others() {
            return Some(true);
        }
        self.look(file).map(|found| found.silent || !found.strangers.is_empty())
    }

    fn is_held_by_strangers(&self, file: &DeviceFile) -> Option<bool> {
        self.look(file).map(|found| !found.strangers.is_empty())
    }

    fn is_held_by_silent(&self, file: &DeviceFile) -> Option<bool> {
        self.look(file).map(|found| found.silent)
    }

    fn sighted_elsewhere(&self, here: &DeviceFile, (kind, handle, id): (Kind, Handle, Option<u32>)) -> Elsewhere {
        call::shield();
        let (Some(folder), Some(here)) = (self.folder.as_ref(), here.id) else { return Elsewhere::Nowhere };
        let began = cpu_time();
        let mut first: Option<Sighting> = None;
        for glimpse in verbsguard_ledger::glimpse_all(folder, here) {
            match (sighting(&glimpse, kind, handle, id), &mut first) {
                (Some(_), Some(first)) => {
                    first.is_one_of_many = true;
                    break;
                }
                (Some(seen), None) => first = Some(seen),
                (None, _) => {}
            }
            if cpu_time().saturating_sub(began) > LOOKING_ELSEWHERE {
                return first.map_or(Elsewhere::NotAllSeen, Elsewhere::Seen);
            }
        }
        first.map_or(Elsewhere::Nowhere, Elsewhere::Seen)
    }
}

/// A live object in another device file; with an `id`, only one that was exported under it.
fn sighting(glimpse: &Glimpse, kind: Kind, handle: Handle, id: Option<u32>) -> Option<Sighting> {
    let object = glimpse.state.object(kind, handle).filter(|object| object.may_live())?;
    if id.is_some() && (object.second_id != id || !object.exported) || !glimpse.is_held() {
        return None;
    }
    let maker = glimpse.process(object.born.holder);
    Some(Sighting {
        file: label(FileIndex(0), Some(glimpse.id)),
        made: Trace::Frames(crate::stacks::spell(maker.stack(object.born.stamp.site))),
        maker: maker.process.map(|process| HolderFacts { pid: process.pid, comm: process.comm }),
        is_one_of_many: false,
    })
}

/// The name of a device file in reports.
fn label(index: FileIndex, id: Option<FileId>) -> Arc<str> {
    id.map_or_else(|| format!("#{}", index.0 + 1), |id| id.to_string()).into()
}

/// Whether a process is of this user.
fn is_ours(pid: u32) -> bool {
    // SAFETY: always succeeds and touches no memory.
    let uid = unsafe { libc::geteuid() };
    std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == uid)
}

/// Context and handle of the struct at `address`.
fn fields(kind: Kind, address: usize) -> Option<(usize, u32)> {
    match kind {
        Kind::Pd => peek::pd(address).map(|pd| (pd.context.addr(), pd.handle)),
        Kind::Umem => peek::umem(address).map(|umem| (umem.context.addr(), umem.handle)),
    }
}

/// What a descriptor is. None where it is closed.
pub fn stat(fd: c_int) -> Option<libc::stat> {
    let before = call::errno();
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the struct or fails. The C library's, so that an emulated device can answer.
    let answer = unsafe { libc::fstat(fd, found.as_mut_ptr()) };
    call::set_errno(before);
    // SAFETY: filled, as fstat said.
    (answer == 0).then(|| unsafe { found.assume_init() })
}

/// Whether `fd` is an open character device.
pub fn is_char_device(fd: c_int) -> bool {
    stat(fd).is_some_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFCHR)
}

/// The size of the dmabuf that `fd` is. Memory files are taken too, for devices that stand in for hardware.
pub fn dmabuf_size(fd: c_int) -> Option<u64> {
    call::shield();
    let target = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let name = target.to_str()?;
    if !name.starts_with("/dmabuf:") && !name.starts_with("/memfd:") {
        return None;
    }
    u64::try_from(stat(fd)?.st_size).ok()
}

/// What a failed registration for want of memory has to do with: for the end of a sentence.
pub fn memory_limits(live_umems: u64) -> String {
    call::shield();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the struct or fails.
    let locked = match unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } {
        0 if limit.rlim_cur == libc::RLIM_INFINITY => "unlimited".to_owned(),
        0 => format!("{} bytes", limit.rlim_cur),
        _ => "unknown".to_owned(),
    };
    let maps = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    format!("; live registrations: {live_umems}, RLIMIT_MEMLOCK: {locked}, vm.max_map_count: {}", maps.trim())
}

/// What this thread has cost so far: unlike the time on the wall it does not run while others have the processor.
fn cpu_time() -> Duration {
    let mut cost = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime fills the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut cost) };
    Duration::new(u64::try_from(cost.tv_sec).unwrap_or(0), u32::try_from(cost.tv_nsec).unwrap_or(0))
}

/// Nanoseconds since 1970, as of the last timer tick: cheap, and fine enough for people.
pub fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime fills the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Whether two descriptors of this process are of one open (kcmp(2)).
fn is_same_file(one: c_int, other: c_int) -> bool {
    const KCMP_FILE: c_int = 0;
    let (Ok(one), Ok(other)) = (libc::c_ulong::try_from(one), libc::c_ulong::try_from(other)) else { return false };
    // SAFETY: kcmp compares two descriptors of this process and changes nothing.
    one == other || unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), libc::getpid(), KCMP_FILE, one, other) } == 0
}
