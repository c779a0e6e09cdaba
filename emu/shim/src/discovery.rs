//! Which provider belongs to the libibverbs that the program has, wherever that came from: linked, or opened later.
use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;

use crate::{device, next, sys};

/// Where libibverbs, as Debian builds it, reads which providers there are, when none that is linked into the program
/// knows the device. It reads IBV_DRIVERS next.
const CONFIG: &CStr = c"/etc/libibverbs.d";

/// opendir(3), allocation and all: it may be called nowhere where that is a danger.
#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    let Some(next) = next::OPENDIR.get() else {
        sys::set_errno(libc::ENOENT);
        return core::ptr::null_mut();
    };
    // SAFETY: the caller's own argument.
    let folder = unsafe { next(path) };
    // SAFETY: as above.
    let is_config = !path.is_null() && unsafe { CStr::from_ptr(path) } == CONFIG;
    if !is_config || device::in_folder(b"").is_none() {
        return folder;
    }
    name_provider();
    // SAFETY: a constant string, and a folder that nobody else has.
    if folder.is_null() { unsafe { read_to_end(next(c"/".as_ptr())) } } else { folder }
}

/// Stands for a folder with nothing in it: without one, libibverbs complains.
///
/// # Safety
/// `folder` is null or was just opened.
unsafe fn read_to_end(folder: *mut libc::DIR) -> *mut libc::DIR {
    // SAFETY: the caller's promise.
    while !folder.is_null() && unsafe { !libc::readdir(folder).is_null() } {}
    folder
}

/// Adds the provider beside libibverbs to the configured ones, unless the user named some.
fn name_provider() {
    // SAFETY: constant strings.
    let is_set = |name: &CStr| unsafe { !libc::getenv(name.as_ptr()).is_null() };
    if is_set(c"IBV_DRIVERS") || is_set(c"RDMAV_DRIVERS") {
        return;
    }
    let mut found: Option<CString> = None;
    // SAFETY: the callback gets this variable, and keeps no reference to it.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut found).cast()) };
    if let Some(path) = found {
        // SAFETY: both are C strings.
        unsafe { libc::setenv(c"IBV_DRIVERS".as_ptr(), path.as_ptr(), 0) };
    }
}

/// Stops at the first library that has its provider beside it.
///
/// # Safety
/// As dl_iterate_phdr's callback; `found` points to an `Option<CString>`.
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader's own record, alive during the call; its name is a C string.
    let provider = provider_beside(unsafe { CStr::from_ptr((*info).dlpi_name) }.to_bytes());
    let is_found = provider.is_some();
    // SAFETY: the caller's promise.
    unsafe { *found.cast::<Option<CString>>() = provider };
    c_int::from(is_found)
}

/// The mlx5 provider in the folder `libibverbs` beside this library, as IBV_DRIVERS wants it: libibverbs appends the
/// suffix of its own version.
fn provider_beside(library: &[u8]) -> Option<CString> {
    let slash = library.iter().rposition(|&c| c == b'/')?;
    if !library[slash..].starts_with(b"/libibverbs.so") {
        return None;
    }
    let folder = CString::new([&library[..slash], b"/libibverbs"].concat()).ok()?;
    // SAFETY: a C string.
    let is_there = unsafe { libc::access(folder.as_ptr(), libc::F_OK) } == 0;
    CString::new([folder.to_bytes(), b"/libmlx5"].concat()).ok().filter(|_| is_there)
}
