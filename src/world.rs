//! What the tracker asks of this process and this host.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;

use verbsguard_core::ledger::Kind;
use verbsguard_core::track::{self, Alone, ContextOrigin, DeviceFile, Reference, Tracker};

use crate::peek;

/// Handles are the lowest free numbers: a larger one at the address of a struct is no handle.
const PLAUSIBLE_HANDLE: u32 = 1 << 24;

/// The process we are in.
pub struct World;

impl track::World for World {
    fn is_reborn(&self, reference: &Reference, address: usize, open_context: &dyn Fn(usize) -> bool) -> bool {
        match fields(reference.kind, address) {
            Some((context, handle)) => handle < PLAUSIBLE_HANDLE && open_context(context),
            None => false,
        }
    }

    fn is_intact(&self, reference: &Reference, address: usize) -> bool {
        fields(reference.kind, address).is_some_and(|(context, handle)| context != 0 && handle == reference.handle)
    }

    fn is_held_elsewhere(&self, _file: &DeviceFile) -> Option<bool> {
        None
    }

    fn is_held_by_strangers(&self, _file: &DeviceFile) -> Option<bool> {
        None
    }
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
    let before = crate::call::errno();
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the struct or fails. The C library's, so that an emulated device can answer.
    let answer = unsafe { libc::fstat(fd, found.as_mut_ptr()) };
    crate::call::set_errno(before);
    // SAFETY: filled, as fstat said.
    (answer == 0).then(|| unsafe { found.assume_init() })
}

/// Whether `fd` is an open character device.
pub fn is_char_device(fd: c_int) -> bool {
    stat(fd).is_some_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFCHR)
}

/// The size of the dmabuf that `fd` is. Memory files are taken too, for devices that stand in for hardware.
pub fn dmabuf_size(fd: c_int) -> Option<u64> {
    let target = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let name = target.to_str()?;
    if !name.starts_with("/dmabuf:") && !name.starts_with("/memfd:") {
        return None;
    }
    u64::try_from(stat(fd)?.st_size).ok()
}

/// What a failed registration for want of memory has to do with: for the end of a sentence.
pub fn memory_limits(live_umems: u64) -> String {
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

/// Nanoseconds since 1970, as of the last timer tick: cheap, and fine enough for people.
pub fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime fills the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// The device file behind `cmd_fd`: one that a context of this process has already, or a new one.
pub fn device_file(tracker: &Tracker, cmd_fd: c_int, origin: ContextOrigin) -> Arc<DeviceFile> {
    let opened_here = origin == ContextOrigin::Opened;
    let same = (!opened_here).then(|| tracker.open_descriptors()).into_iter().flatten();
    let known = same.into_iter().find(|(fd, _)| is_same_file(*fd, cmd_fd)).map(|(_, file)| file);
    tracker.find_or_add_file(
        |file| Some(file.index) == known,
        |index| {
            DeviceFile::new(index, format!("{:04x}", std::process::id() & 0xffff).into(), None, Box::<Alone>::default())
        },
    )
}

/// Whether two descriptors of this process are of one open (kcmp(2)).
fn is_same_file(one: c_int, other: c_int) -> bool {
    const KCMP_FILE: c_int = 0;
    let (Ok(one), Ok(other)) = (libc::c_ulong::try_from(one), libc::c_ulong::try_from(other)) else { return false };
    // SAFETY: kcmp compares two descriptors of this process and changes nothing.
    one == other || unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), libc::getpid(), KCMP_FILE, one, other) } == 0
}
