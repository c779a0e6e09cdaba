//! The auditor: lets programs that reach verbs by `dlopen` and `dlsym` find the guard.
//!
//! `LD_PRELOAD` puts the guard before rdma-core in the global search order, but `dlsym(handle, …)` asks one library
//! and not that order. The dynamic loader tells an auditor (rtld-audit(7)) of every such answer before it gives it.
//! This one answers with the guard's function where the guard has one of that name at that version node. Another node
//! (`ibv_alloc_pd@IBVERBS_1.0`) is another function and stays rdma-core's.
//!
//! It is loaded before the C library is and into every program that is started under `verbsguard run --audit`. So it
//! needs no library, allocates nothing and keeps one word: where the guard is.
#![cfg_attr(not(test), no_std)]

mod object;
mod role;

use core::ffi::{c_char, c_long, c_uint};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use object::{LinkMap, Name, Object, Symbol};
use role::Role;

/// The first version of the interface with which an auditor costs a program nothing at its calls (glibc 2.35).
const CHEAP: c_uint = 2;

/// `LA_FLG_BINDTO`: tell of bindings to this object.
const BIND_TO: c_uint = 1;
/// `LA_FLG_BINDFROM`: tell of bindings from this object.
const BIND_FROM: c_uint = 2;

/// The first guard of the program's own namespace; null until it is loaded.
static GUARD: AtomicPtr<LinkMap> = AtomicPtr::new(ptr::null_mut());

/// In a cookie: nothing to do for this object.
const NOTHING: usize = 0;
/// In a cookie: the guard, whose own look-ups are for the real functions. No link map is at this address.
const THE_GUARD: usize = 1;

/// Agrees with the loader on the interface; 0 makes an older loader go on without the auditor.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(offered: c_uint) -> c_uint {
    if offered < CHEAP { 0 } else { CHEAP }
}

/// A library was loaded: its cookie says what it is to us.
///
/// # Safety
/// For the loader, which hands in a complete link map and a cookie to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(map: *mut LinkMap, namespace: c_long, cookie: *mut usize) -> c_uint {
    // SAFETY: the loader's link map, whose library is mapped.
    let role = Role::of(unsafe { Object::new(map) }.soname());
    let (mark, flags) = match role {
        Role::Guard => {
            if namespace == 0 {
                let _ = GUARD.compare_exchange(ptr::null_mut(), map, Ordering::AcqRel, Ordering::Relaxed);
            }
            (THE_GUARD, 0)
        }
        Role::Verbs => (map.expose_provenance(), BIND_TO | BIND_FROM),
        Role::Other => (NOTHING, BIND_FROM),
    };
    // SAFETY: the loader's cookie for this library.
    unsafe { *cookie = mark };
    flags
}

/// A symbol was found: the address that is given for it.
///
/// # Safety
/// For the loader, which hands in the symbol, its index in its library's table, and both libraries' cookies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_symbind64(
    symbol: *const Symbol,
    index: c_uint,
    from: *const usize,
    to: *const usize,
    _flags: *mut c_uint,
    name: *const c_char,
) -> usize {
    // SAFETY: the loader's own copy of the symbol, and cookies that la_objopen wrote.
    let (real, from, to) = unsafe { ((*symbol).value, *from, *to) };
    let guard = GUARD.load(Ordering::Acquire);
    if guard.is_null() || from == THE_GUARD || to == NOTHING || to == THE_GUARD {
        return real;
    }
    // SAFETY: the cookie of a verbs library is its link map, and it is mapped: something is being bound to it. The
    // guard is never unmapped (-z nodelete).
    let (verbs, guard) = unsafe { (Object::new(ptr::with_exposed_provenance(to)), Object::new(guard)) };
    // SAFETY: the symbol's name, in the library's own table.
    let name = unsafe { Name::new(name) };
    verbs.node(index as usize).and_then(|node| guard.find(name, node)).unwrap_or(real)
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        /// Defined nowhere: where a panic can be reached, linking fails.
        fn the_auditor_must_not_panic() -> !;
    }
    // SAFETY: never linked.
    unsafe { the_auditor_must_not_panic() }
}

#[cfg(test)]
mod tests {
    use super::la_version;

    #[test]
    fn a_loader_that_would_make_every_call_slow_goes_on_without_us() {
        assert_eq!([la_version(0), la_version(1), la_version(2), la_version(3)], [0, 0, 2, 2]);
    }
}
