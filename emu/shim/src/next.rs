//! The functions that this library stands before. Until its constructor ran (another library's may come first),
//! callers fall back on plain system calls.
use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

/// One function, looked up in the libraries after this one.
pub struct Next<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    kind: PhantomData<F>,
}

impl<F: Copy> Next<F> {
    const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(core::ptr::null_mut()), kind: PhantomData }
    }

    fn resolve(&self) {
        // SAFETY: a C string; the look-up has no other demands.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Release);
    }

    /// The function, once it is known.
    pub fn get(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address.load(Ordering::Acquire);
        // SAFETY: F is the type of the C function of that name, and function pointers have the size of pointers.
        (!address.is_null()).then(|| unsafe { core::mem::transmute_copy(&address) })
    }
}

macro_rules! table {
    ($($name:ident: $symbol:literal = $kind:ty;)*) => {
        $(pub static $name: Next<$kind> = Next::new($symbol);)*
        /// Looks every function up.
        pub fn resolve_all() {
            $($name.resolve();)*
        }
    };
}

table! {
    OPEN: c"open" = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
    OPENAT: c"openat" = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
    OPEN_2: c"__open_2" = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    OPENAT_2: c"__openat_2" = unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int;
    FCNTL: c"fcntl" = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;
    IOCTL: c"ioctl" = unsafe extern "C" fn(c_int, libc::c_ulong, ...) -> c_int;
    READ: c"read" = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
    WRITE: c"write" = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
    MMAP: c"mmap" = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;
    MUNMAP: c"munmap" = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    STAT: c"stat" = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
    LSTAT: c"lstat" = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
    FSTAT: c"fstat" = unsafe extern "C" fn(c_int, *mut libc::stat) -> c_int;
    FSTATAT: c"fstatat" = unsafe extern "C" fn(c_int, *const c_char, *mut libc::stat, c_int) -> c_int;
    STATX: c"statx" = unsafe extern "C" fn(c_int, *const c_char, c_int, libc::c_uint, *mut libc::statx) -> c_int;
    ACCESS: c"access" = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    FACCESSAT: c"faccessat" = unsafe extern "C" fn(c_int, *const c_char, c_int, c_int) -> c_int;
    READLINK: c"readlink" = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;
    READLINKAT: c"readlinkat" = unsafe extern "C" fn(c_int, *const c_char, *mut c_char, usize) -> isize;
    OPENDIR: c"opendir" = unsafe extern "C" fn(*const c_char) -> *mut libc::DIR;
    SOCKET: c"socket" = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
}
