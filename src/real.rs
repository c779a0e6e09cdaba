//! Finding, pinning and calling the real libraries. The only transmute of this project is here.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libloading::os::unix::Library;
use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;

/// The two libraries that the guard stands in front of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    Verbs,
    Mlx5,
}

impl Provider {
    pub fn soname(self) -> &'static CStr {
        match self {
            Provider::Verbs => c"libibverbs.so.1",
            Provider::Mlx5 => c"libmlx5.so.1",
        }
    }

    /// The library as the program has it, or else as the loader finds it. It stays for good: a program may dlclose a
    /// provider while we hold pointers into it.
    fn handle(self) -> Option<*mut c_void> {
        static HANDLES: [Lazy<Option<Handle>>; 2] =
            [Lazy::new(|| Provider::Verbs.load()), Lazy::new(|| Provider::Mlx5.load())];
        HANDLES[self as usize].as_ref().map(|handle| handle.0)
    }

    /// Whether the program has loaded it.
    fn is_loaded(self) -> bool {
        let name = std::ffi::OsStr::from_bytes(self.soname().to_bytes());
        // SAFETY: RTLD_NOLOAD loads nothing and runs nothing.
        unsafe { Library::open(Some(name), libc::RTLD_NOW | libc::RTLD_NOLOAD) }.is_ok()
    }

    fn load(self) -> Option<Handle> {
        let chosen = PATHS.get().and_then(|paths| paths[self as usize].clone());
        let name = match &chosen {
            Some(path) => CString::new(path.as_os_str().as_bytes()).ok()?,
            None => self.soname().to_owned(),
        };
        let pinned = libc::RTLD_NOW | libc::RTLD_NODELETE;
        let open = |flags| {
            // SAFETY: loading libibverbs or libmlx5 runs their constructors, as the program's own use of them does.
            unsafe { Library::open(Some(std::ffi::OsStr::from_bytes(name.to_bytes())), flags) }.ok()
        };
        open(pinned | libc::RTLD_NOLOAD).or_else(|| open(pinned)).map(|library| Handle(library.into_raw()))
    }

    /// Where the real library lies, once it has been found; for `verbose=1`.
    pub fn path(self) -> Option<PathBuf> {
        let handle = self.handle()?;
        let mut map: *mut LinkMap = std::ptr::null_mut();
        // SAFETY: RTLD_DI_LINKMAP stores one pointer to the handle's link map, which lives as long as the library.
        let answer = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        if answer != 0 || map.is_null() {
            return None;
        }
        // SAFETY: a link map of glibc begins with the load address and the name, a NUL-terminated string.
        let name = unsafe { CStr::from_ptr((*map).name) };
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
    }
}

struct Handle(*mut c_void);
// SAFETY: a handle of dlopen may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; dlvsym takes the loader's own lock.
unsafe impl Sync for Handle {}

/// The head of glibc's `struct link_map` (link.h).
#[repr(C)]
struct LinkMap {
    addr: usize,
    name: *const std::ffi::c_char,
}

static PATHS: OnceCell<[Option<PathBuf>; 2]> = OnceCell::new();

/// Options `libibverbs` and `libmlx5`: takes effect for libraries that were not looked up yet.
pub fn set_paths(verbs: Option<PathBuf>, mlx5: Option<PathBuf>) {
    let _ = PATHS.set([verbs, mlx5]);
}

/// One function of a real library, looked up once, at the version node that the guard exports it at. `F` is its type.
pub struct Real<F> {
    provider: Provider,
    name: &'static CStr,
    node: &'static CStr,
    slot: AtomicPtr<c_void>,
    calls: AtomicU64,
    /// Only where the program has loaded the library: it is not loaded for our sake.
    if_loaded: bool,
    kind: PhantomData<F>,
}

/// In a slot: looked for, and not there.
const ABSENT: *mut c_void = usize::MAX as *mut c_void;

impl<F: Copy> Real<F> {
    const IS_POINTER: () = assert!(size_of::<F>() == size_of::<*mut c_void>());

    /// A function of libibverbs.
    pub const fn verbs(name: &'static CStr, node: &'static CStr) -> Self {
        Self::new(Provider::Verbs, name, node)
    }

    /// A function of libmlx5.
    pub const fn mlx5(name: &'static CStr, node: &'static CStr) -> Self {
        Self::new(Provider::Mlx5, name, node)
    }

    /// A function of libmlx5 that we ask for ourselves: absent where the program has not loaded libmlx5.
    pub const fn mlx5_if_loaded(name: &'static CStr, node: &'static CStr) -> Self {
        Real { if_loaded: true, ..Self::new(Provider::Mlx5, name, node) }
    }

    /// A function that the headers define inline: it calls a pointer in the context, and is no symbol. It has a name only.
    pub const fn inline(name: &'static CStr) -> Self {
        Self::new(Provider::Verbs, name, c"inline")
    }

    const fn new(provider: Provider, name: &'static CStr, node: &'static CStr) -> Self {
        let slot = AtomicPtr::new(std::ptr::null_mut());
        Real { provider, name, node, slot, calls: AtomicU64::new(0), if_loaded: false, kind: PhantomData }
    }

    /// The real function, or None where the library lacks it. Thread-safe.
    pub fn get(&self) -> Option<F> {
        let mut found = self.slot.load(Ordering::Acquire);
        if found.is_null() {
            found = self.look_up();
            self.slot.store(found, Ordering::Release);
        }
        // SAFETY: the address is that of the symbol which has type F at this version node.
        (found != ABSENT).then(|| unsafe { Self::at(found) })
    }

    /// The function at an address.
    ///
    /// # Safety
    /// F is a function pointer type, and the function at `address` has it.
    pub unsafe fn at(address: *mut c_void) -> F {
        let () = Self::IS_POINTER;
        // SAFETY: the caller's promise; F is one pointer wide.
        unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) }
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let before = crate::call::errno();
        let found = self.look_up_now();
        crate::call::set_errno(before);
        found
    }

    fn look_up_now(&self) -> *mut c_void {
        if self.if_loaded && !self.provider.is_loaded() {
            return ABSENT;
        }
        let Some(handle) = self.provider.handle() else { return ABSENT };
        // SAFETY: a live handle and two NUL-terminated strings.
        let found = unsafe { libc::dlvsym(handle, self.name.as_ptr(), self.node.as_ptr()) };
        if found.is_null() { ABSENT } else { found }
    }
}

/// What the rest of the guard asks of a function, whatever its type.
pub trait Named: Sync {
    fn name(&self) -> &'static str;
    fn node(&self) -> &'static str;
    fn provider(&self) -> Provider;
    fn count(&self) -> u64;
    fn note_call(&'static self);
    fn resolved(&self) -> Option<bool>;

    /// What the manual page calls the context that the call names.
    fn context_argument(&self) -> &'static str {
        if self.name().starts_with("mlx5dv_devx_umem_reg") { "ctx" } else { "context" }
    }
}

/// The functions that were called at least once.
static CALLED: Mutex<Vec<&'static dyn Named>> = Mutex::new(Vec::new());

/// Visits the functions that were called at least once, by name.
pub fn each_called(mut visit: impl FnMut(&'static dyn Named)) {
    let mut called = CALLED.lock().clone();
    called.sort_by_key(|function| function.name());
    for function in called {
        visit(function);
    }
}

impl<F: 'static> Named for Real<F> {
    fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or("?")
    }

    fn node(&self) -> &'static str {
        self.node.to_str().unwrap_or("?")
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn count(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn note_call(&'static self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            CALLED.lock().push(self);
        }
    }

    fn resolved(&self) -> Option<bool> {
        let found = self.slot.load(Ordering::Relaxed);
        (!found.is_null()).then_some(found != ABSENT)
    }
}

// SAFETY: F is a function pointer type; the fields are atomics and static strings.
unsafe impl<F> Sync for Real<F> {}
