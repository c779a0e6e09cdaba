//! Walking the stack with the unwinder that comes with the compiler.

use std::ffi::{c_int, c_void};
use std::ops::Range;

/// `_URC_NO_REASON`: go on.
const GO_ON: c_int = 0;

/// `_URC_END_OF_STACK`; any other value ends the walk.
const END: c_int = 5;

#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

type Step = extern "C" fn(*mut Context, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(step: Step, data: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut Context, before_instruction: *mut c_int) -> usize;
}

struct Walk<'a> {
    addresses: &'a mut [usize],
    len: usize,
    skip: Range<usize>,
}

/// Writes the addresses of the calls, the innermost first, until the slice is full; how many there were. The innermost
/// ones that lie in `skip` are left out.
pub(super) fn walk(addresses: &mut [usize], skip: Range<usize>) -> usize {
    let mut walk = Walk { addresses, len: 0, skip };
    // SAFETY: `step` takes exactly the pointer given here, which lives until the call returns.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.len
}

extern "C" fn step(context: *mut Context, walk: *mut c_void) -> c_int {
    // SAFETY: `walk` is what was given to _Unwind_Backtrace, which is the only one to hold it now.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    let mut before_instruction = 0;
    // SAFETY: the context is the unwinder's own, valid within this call.
    let address = unsafe { _Unwind_GetIPInfo(context, &raw mut before_instruction) };
    // A return address belongs to what comes after the call; one byte less lies in the call.
    let address = address.wrapping_sub(usize::from(before_instruction == 0));
    if address == 0 || address == usize::MAX {
        return END;
    }
    if walk.len == 0 && walk.skip.contains(&address) {
        return GO_ON;
    }
    let Some(slot) = walk.addresses.get_mut(walk.len) else { return END };
    *slot = address;
    walk.len += 1;
    if walk.len < walk.addresses.len() { GO_ON } else { END }
}
