//! The C library's functions that this library stands before. Each asks whether the call is about an emulated device;
//! all else goes on to the next library as it came. The variadic ones are defined with fixed arguments, as their
//! callers pass them in registers.
use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use crate::device::{self, Meaning};
use crate::{call, lock, mapping, next, node, sys};

/// The next library's function, or the plain system call as long as that one is not known.
macro_rules! forward {
    ($next:ident($($arg:expr),*) or $number:ident[$($raw:expr),*]) => {
        match next::$next.get() {
            // SAFETY: the caller's own arguments.
            Some(function) => unsafe { function($($arg),*) },
            None => {
                let (given, mut args) = ([$($raw as usize),*], [0; 6]);
                args[..given.len()].copy_from_slice(&given);
                // SAFETY: as above.
                sys::report(unsafe { sys::call(libc::$number, args) }) as _
            }
        }
    };
}

/// Another name of the same function, as programs with large files or of old bind to it.
macro_rules! alias {
    ($($name:ident = $function:ident($($arg:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $kind),*) -> $result {
                // SAFETY: the caller's own arguments.
                unsafe { $function($($arg),*) }
            }
        )*
    };
}

fn report(result: sys::Result<usize>) -> c_int {
    sys::report(result) as c_int
}

/// Opens the path if it is an emulated device's.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn open_device(path: *const c_char, flags: c_int) -> Option<c_int> {
    // SAFETY: the caller's promise.
    match unsafe { device::of_path(path, flags & libc::O_NOFOLLOW == 0) } {
        Meaning::Device(device) => Some(report(node::open(device, flags))),
        Meaning::Nothing => Some(report(Err(libc::ENOENT))),
        Meaning::Other => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { open_device(path, flags) } {
        Some(fd) => fd,
        None => forward!(OPEN(path, flags, mode) or SYS_openat[libc::AT_FDCWD, path, flags, mode]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { open_device(path, flags) } {
        Some(fd) => fd,
        None => forward!(OPENAT(folder, path, flags, mode) or SYS_openat[folder, path, flags, mode]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { open_device(path, flags) } {
        Some(fd) => fd,
        None => forward!(OPEN_2(path, flags) or SYS_openat[libc::AT_FDCWD, path, flags]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { open_device(path, flags) } {
        Some(fd) => fd,
        None => forward!(OPENAT_2(folder, path, flags) or SYS_openat[folder, path, flags]),
    }
}

/// The status of the path if it is an emulated device's.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn device_at(path: *const c_char, follow: bool) -> Option<sys::Result<usize>> {
    // SAFETY: the caller's promise.
    match unsafe { device::of_path(path, follow) } {
        Meaning::Device(device) => Some(device::exists(device).map(|()| device)),
        Meaning::Nothing => Some(Err(libc::ENOENT)),
        Meaning::Other => None,
    }
}

fn fill(device: sys::Result<usize>, status: *mut libc::stat) -> c_int {
    report(device.and_then(|device| node::fill_stat(device, status)))
}

/// Makes the status of a socket that plays a device the device's.
fn correct(result: c_int, fd: c_int, status: *mut libc::stat) -> c_int {
    // SAFETY: a successful call filled the structure.
    if result != 0 || unsafe { (*status).st_mode } & libc::S_IFMT != libc::S_IFSOCK {
        return result;
    }
    match device::of_descriptor(fd).or_else(|| device::of_path_descriptor(fd)) {
        Some(device) => fill(Ok(device), status),
        None => result,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stat(path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { device_at(path, true) } {
        Some(device) => fill(device, status),
        None => forward!(STAT(path, status) or SYS_newfstatat[libc::AT_FDCWD, path, status]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lstat(path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { device_at(path, false) } {
        Some(device) => fill(device, status),
        None => {
            forward!(LSTAT(path, status) or SYS_newfstatat[libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW])
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstat(fd: c_int, status: *mut libc::stat) -> c_int {
    correct(forward!(FSTAT(fd, status) or SYS_fstat[fd, status]), fd, status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstatat(folder: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    if let Some(device) = unsafe { device_at(path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) } {
        return fill(device, status);
    }
    let result = forward!(FSTATAT(folder, path, status, flags) or SYS_newfstatat[folder, path, status, flags]);
    // SAFETY: the caller's own argument.
    match unsafe { names_descriptor(path, flags) } {
        true => correct(result, folder, status),
        false => result,
    }
}

/// Whether a call's path means the descriptor itself.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn names_descriptor(path: *const c_char, flags: c_int) -> bool {
    // SAFETY: the caller's promise.
    flags & libc::AT_EMPTY_PATH != 0 && (path.is_null() || unsafe { *path } == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller's own argument.
    let found = match unsafe { names_descriptor(path, flags) } {
        true => device::of_descriptor(folder).or_else(|| device::of_path_descriptor(folder)).map(Ok),
        // SAFETY: the caller's own argument.
        false => unsafe { device_at(path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) },
    };
    match found {
        Some(device) => report(device.and_then(|device| node::fill_statx(device, status))),
        None => forward!(STATX(folder, path, flags, mask, status) or SYS_statx[folder, path, flags, mask, status]),
    }
}

/// The status functions of programs built before C library 2.33.
unsafe extern "C" fn xstatat(
    version: c_int,
    folder: c_int,
    path: *const c_char,
    status: *mut libc::stat,
    flags: c_int,
) -> c_int {
    match version {
        // SAFETY: the caller's own arguments.
        0 | 1 => unsafe { fstatat(folder, path, status, flags) },
        _ => report(Err(libc::EINVAL)),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __xstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { xstatat(version, libc::AT_FDCWD, path, status, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __lxstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { xstatat(version, libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __fxstat(version: c_int, fd: c_int, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { xstatat(version, fd, c"".as_ptr(), status, libc::AT_EMPTY_PATH) }
}

fn allow(device: sys::Result<usize>, mode: c_int) -> c_int {
    report(device.and(if mode & libc::X_OK != 0 { Err(libc::EACCES) } else { Ok(0) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { device_at(path, true) } {
        Some(device) => allow(device, mode),
        None => forward!(ACCESS(path, mode) or SYS_faccessat[libc::AT_FDCWD, path, mode]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    match unsafe { device_at(path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) } {
        Some(device) => allow(device, mode),
        None => forward!(FACCESSAT(folder, path, mode, flags) or SYS_faccessat2[folder, path, mode, flags]),
    }
}

/// Whether an ioctl is the file system's own, on any file.
fn is_of_every_file(request: c_ulong) -> bool {
    [libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO, libc::FIOASYNC].contains(&request)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    match device::of_descriptor(fd) {
        Some(_) if request == call::VERBS_IOCTL => report(call::ioctl(fd, argument as u64)),
        Some(_) if !is_of_every_file(request) => report(Err(libc::ENOTTY)),
        _ => forward!(IOCTL(fd, request, argument) or SYS_ioctl[fd, request, argument]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    if lock::is_lock(command) && device::of_descriptor(fd).is_some() {
        return report(lock::lock(fd, command, argument as u64));
    }
    let result = forward!(FCNTL(fd, command, argument) or SYS_fcntl[fd, command, argument]);
    if command == libc::F_GETFL && result != -1 && device::of_descriptor(fd).is_some() {
        return result | node::LARGE_FILE;
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    if flags & libc::MAP_ANONYMOUS == 0 && device::of_descriptor(fd).is_some() {
        let wanted = mapping::Wanted { address: address as usize, length, protection, flags };
        return sys::report(mapping::map(fd, &wanted, offset)) as *mut c_void;
    }
    if flags & libc::MAP_FIXED != 0 {
        mapping::forget(address as usize, length);
    }
    forward!(MMAP(address, length, protection, flags, fd, offset)
        or SYS_mmap[address, length, protection, flags, fd, offset])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    // Before: another thread may be given the same address as soon as it is free.
    mapping::forget(address as usize, length);
    forward!(MUNMAP(address, length) or SYS_munmap[address, length])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, size: usize) -> isize {
    match device::of_descriptor(fd) {
        Some(_) => sys::report(Err(libc::EINVAL)),
        None => forward!(READ(fd, buffer, size) or SYS_read[fd, buffer, size]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, size: usize) -> isize {
    match device::of_descriptor(fd) {
        Some(_) => sys::report(call::write(fd, size)),
        None => forward!(WRITE(fd, buffer, size) or SYS_write[fd, buffer, size]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    // SAFETY: the caller's own argument.
    match unsafe { device::of_link(path) } {
        Some(target) => sys::report(node::fill_link(target, buffer, size)),
        None => forward!(READLINK(path, buffer, size) or SYS_readlinkat[libc::AT_FDCWD, path, buffer, size]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlinkat(folder: c_int, path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    // SAFETY: the caller's own argument.
    match unsafe { device::of_link(path) } {
        Some(target) => sys::report(node::fill_link(target, buffer, size)),
        None => forward!(READLINKAT(folder, path, buffer, size) or SYS_readlinkat[folder, path, buffer, size]),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // Real RDMA devices would be listed there; without it libibverbs reads SYSFS_PATH.
    let rdma = domain == libc::AF_NETLINK && protocol == libc::NETLINK_RDMA;
    match rdma && device::in_folder(b"").is_some() {
        true => report(Err(libc::EPROTONOSUPPORT)),
        false => forward!(SOCKET(domain, kind, protocol) or SYS_socket[domain, kind, protocol]),
    }
}

alias! {
    open64 = open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    openat64 = openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    __open64_2 = __open_2(path: *const c_char, flags: c_int) -> c_int;
    __openat64_2 = __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
    stat64 = stat(path: *const c_char, status: *mut libc::stat) -> c_int;
    lstat64 = lstat(path: *const c_char, status: *mut libc::stat) -> c_int;
    fstat64 = fstat(fd: c_int, status: *mut libc::stat) -> c_int;
    fstatat64 = fstatat(folder: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int;
    __xstat64 = __xstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int;
    __lxstat64 = __lxstat(version: c_int, path: *const c_char, status: *mut libc::stat) -> c_int;
    __fxstat64 = __fxstat(version: c_int, fd: c_int, status: *mut libc::stat) -> c_int;
    __fxstatat = xstatat(
        version: c_int, folder: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int;
    __fxstatat64 = xstatat(
        version: c_int, folder: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int;
    fcntl64 = fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
    mmap64 = mmap(
        address: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: libc::off_t)
        -> *mut c_void;
}
