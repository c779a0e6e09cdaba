//! Libraries that the loader has: asked for functions, and kept.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use libloading::os::unix::Library;

use super::Provider;

/// A function at a version node.
#[derive(Clone, Copy)]
pub struct Symbol {
    pub name: &'static CStr,
    pub node: &'static CStr,
}

/// The head of glibc's `struct link_map` (link.h).
#[repr(C)]
struct LinkMap {
    addr: usize,
    name: *const c_char,
}

/// A library that was loaded: the loader's link map, which is glibc's handle too once it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loaded(pub(super) *mut c_void);
// SAFETY: a handle of dlopen may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; dlvsym takes the loader's own lock.
unsafe impl Sync for Loaded {}

/// dladdr1(3): tell of the link map.
const RTLD_DL_LINKMAP: c_int = 2;

impl Loaded {
    /// The library that has code or data at this address.
    pub(super) fn at(address: usize) -> Option<Loaded> {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
        let mut map: *mut c_void = std::ptr::null_mut();
        // SAFETY: any address may be asked about; the answer goes to two variables of ours.
        let found = unsafe {
            libc::dladdr1(address as *const c_void, info.as_mut_ptr(), (&raw mut map).cast(), RTLD_DL_LINKMAP)
        };
        (found != 0 && !map.is_null()).then_some(Loaded(map))
    }

    /// Where the function is. The library is open: one that was only loaded because another needs it is no handle yet.
    pub(super) fn find(self, symbol: Symbol) -> Option<usize> {
        // SAFETY: the handle of an open library, and two NUL-terminated strings.
        let found = unsafe { libc::dlvsym(self.0, symbol.name.as_ptr(), symbol.node.as_ptr()) };
        (!found.is_null()).then(|| found.addr())
    }

    /// The same for a library that may not be open.
    pub(super) fn ask(self, symbol: Symbol) -> Option<usize> {
        self.open(0)?;
        let found = self.find(symbol);
        // SAFETY: opened above; what the program has of it stays.
        unsafe { libc::dlclose(self.0) };
        found
    }

    /// Opens the library, which is loaded, in its own namespace.
    fn open(self, flags: c_int) -> Option<()> {
        let mut namespace: libc::Lmid_t = 0;
        // SAFETY: stores one number. Nothing is loaded by the second call, which finds the library by its own path.
        let handle = unsafe {
            if libc::dlinfo(self.0, libc::RTLD_DI_LMID, (&raw mut namespace).cast()) != 0 {
                return None;
            }
            libc::dlmopen(namespace, (*self.0.cast::<LinkMap>()).name, libc::RTLD_NOW | libc::RTLD_NOLOAD | flags)
        };
        (handle == self.0).then_some(())
    }

    /// Whether it is a copy of that library, and not one that merely needs a copy.
    pub(super) fn is_of(self, provider: Provider) -> bool {
        self.ask(provider.hallmark()).and_then(Loaded::at) == Some(self)
    }

    /// Keeps it loaded for good: a program may dlclose a library while we hold pointers into it.
    pub(super) fn pin(self) -> Option<()> {
        self.open(libc::RTLD_NODELETE)
    }

    pub(super) fn path(self) -> PathBuf {
        // SAFETY: a link map of glibc begins with the load address and the name, a NUL-terminated string.
        let name = unsafe { CStr::from_ptr((*self.0.cast::<LinkMap>()).name) };
        PathBuf::from(std::ffi::OsString::from_vec(name.to_bytes().to_vec()))
    }
}

/// A library as the program has it, or else as the loader finds it.
pub(super) fn load(name: &CStr) -> Option<Loaded> {
    let pinned = libc::RTLD_NOW | libc::RTLD_NODELETE;
    let open = |flags| {
        // SAFETY: loading libibverbs or libmlx5 runs their constructors, as the program's own use of them does.
        unsafe { Library::open(Some(std::ffi::OsStr::from_bytes(name.to_bytes())), flags) }.ok()
    };
    open(pinned | libc::RTLD_NOLOAD).or_else(|| open(pinned)).map(|library| Loaded(library.into_raw()))
}
