//! The function pointers of a context that inline verbs call.
//!
//! Where a header defines a verb inline there is no symbol to interpose: it calls a pointer in the context. The pointers
//! that make or end something are replaced in each context when it is made, by the functions of [`crate::abi::inline`];
//! those find the provider's own by the context. Pointers of the data path are never touched.
//!
//! Nothing here takes a lock: a call in a signal handler, or in a forked child, must always find its way.

use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::abi::inline;
use crate::abi::types::{ABI_IS_EXTENDED, IbvContext, IbvContextOps, VerbsContextTail};
use crate::call::Callee;
use crate::copies::{Owner, Sight};
use crate::real::{Named, Real};

/// Declares the pointers in one place: variant, which struct has it, its name there.
macro_rules! pointers {
    ($($variant:ident $of:ident $field:ident;)*) => {
        /// A pointer that is replaced.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Pointer {
            $($variant,)*
        }

        impl Pointer {
            const ALL: &[Pointer] = &[$(Pointer::$variant,)*];

            /// Its name in the struct.
            #[cfg(test)]
            fn name(self) -> &'static str {
                match self { $(Pointer::$variant => stringify!($field),)* }
            }

            /// Where it stands, in bytes from the context.
            const fn offset(self) -> isize {
                match self { $(Pointer::$variant => $of!($field),)* }
            }

            /// What stands there in place of the provider's own.
            fn wrapper(self) -> *mut c_void {
                match self { $(Pointer::$variant => inline::$field as *mut c_void,)* }
            }
        }
    };
}

macro_rules! ops {
    ($field:ident) => {
        (offset_of!(IbvContext, ops) + offset_of!(IbvContextOps, $field)).cast_signed()
    };
}

macro_rules! verbs {
    ($field:ident) => {
        offset_of!(VerbsContextTail, $field).cast_signed() - offset_of!(VerbsContextTail, context).cast_signed()
    };
}

pointers! {
    AllocMw ops alloc_mw;
    DeallocMw ops dealloc_mw;
    AllocNullMr verbs alloc_null_mr;
    RegDmMr verbs reg_dm_mr;
    CreateQpEx verbs create_qp_ex;
    OpenQp verbs open_qp;
    CreateSrqEx verbs create_srq_ex;
    CreateWq verbs create_wq;
    DestroyWq verbs destroy_wq;
    AllocParentDomain verbs alloc_parent_domain;
    CreateCqEx verbs create_cq_ex;
    AllocDm verbs alloc_dm;
    FreeDm verbs free_dm;
    CreateCounters verbs create_counters;
    DestroyCounters verbs destroy_counters;
    CreateFlow verbs ibv_create_flow;
    DestroyFlow verbs ibv_destroy_flow;
    AllocTd verbs alloc_td;
    DeallocTd verbs dealloc_td;
    OpenXrcd verbs open_xrcd;
    CloseXrcd verbs close_xrcd;
    CreateRwqIndTable verbs create_rwq_ind_table;
    DestroyRwqIndTable verbs destroy_rwq_ind_table;
}

impl Pointer {
    /// Where it stands in `context`, if its struct is big enough to have it.
    fn place(self, context: *mut IbvContext) -> Option<*mut *mut c_void> {
        let offset = self.offset();
        if offset < 0 && !reaches_back(context, offset.unsigned_abs()) {
            return None;
        }
        Some(context.wrapping_byte_offset(offset).cast())
    }
}

/// Whether `context` is the end of a `struct verbs_context` that begins at least this many bytes before it. That struct
/// grows at its head, and has its size right before the context (verbs_get_ctx_op).
fn reaches_back(context: *mut IbvContext, bytes: usize) -> bool {
    // SAFETY: an open context; abi_compat is a public field of it.
    if unsafe { (*context).abi_compat } != ABI_IS_EXTENDED {
        return false;
    }
    let size = context.wrapping_byte_sub(offset_of!(VerbsContextTail, context) - offset_of!(VerbsContextTail, sz));
    // SAFETY: an extended context is the end of a verbs_context.
    unsafe { *size.cast::<usize>() >= bytes + size_of::<IbvContext>() }
}

/// The pointers as the provider had them; 0 where there was none. Contexts of one provider share one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Originals([usize; Pointer::ALL.len()]);

static SETS: boxcar::Vec<Originals> = boxcar::Vec::new();

/// A context whose pointers were replaced; free where its address is 0.
struct Entry {
    context: AtomicUsize,
    originals: AtomicPtr<Originals>,
}

static ENTRIES: boxcar::Vec<Entry> = boxcar::Vec::new();

const FREE: usize = 0;
/// No context has this address.
const TAKEN: usize = 1;

/// Replaces the pointers of a context that was just made, and that nobody else knows yet.
pub fn watch(context: *mut IbvContext) {
    let mut found = Originals([0; Pointer::ALL.len()]);
    for pointer in Pointer::ALL {
        let Some(place) = pointer.place(context) else { continue };
        // SAFETY: it stands in the context that the provider has just returned.
        let original = unsafe { *place };
        if original == pointer.wrapper() {
            // Known already, with what stood there before.
            return;
        }
        found.0[*pointer as usize] = original as usize;
    }
    enter(context.addr(), intern(found));
    for pointer in Pointer::ALL.iter().filter(|pointer| found.0[**pointer as usize] != 0) {
        if let Some(place) = pointer.place(context) {
            // SAFETY: as above.
            unsafe { *place = pointer.wrapper() };
        }
    }
}

fn intern(found: Originals) -> &'static Originals {
    if let Some((_, known)) = SETS.iter().find(|(_, known)| **known == found) {
        return known;
    }
    let at = SETS.push(found);
    SETS.get(at).unwrap_or(&NOTHING)
}

static NOTHING: Originals = Originals([0; Pointer::ALL.len()]);

fn enter(context: usize, originals: &'static Originals) {
    let originals = std::ptr::from_ref(originals).cast_mut();
    let take = |from| {
        move |(_, entry): &(usize, &Entry)| {
            entry.context.compare_exchange(from, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        }
    };
    // One of this address is of a context whose close was not seen.
    let place = ENTRIES.iter().find(take(context)).or_else(|| ENTRIES.iter().find(take(FREE)));
    match place {
        Some((_, entry)) => {
            entry.originals.store(originals, Ordering::Relaxed);
            entry.context.store(context, Ordering::Release);
        }
        None => {
            ENTRIES.push(Entry { context: AtomicUsize::new(context), originals: AtomicPtr::new(originals) });
        }
    }
}

/// What [`unwatch`] took away.
#[derive(Clone, Copy)]
pub struct Unwatched(Option<&'static Originals>);

/// Before a context is freed: its address may be another one's as soon as it is.
pub fn unwatch(context: *mut IbvContext) -> Unwatched {
    let found = ENTRIES.iter().find(|(_, entry)| entry.context.load(Ordering::Acquire) == context.addr());
    Unwatched(found.and_then(|(_, entry)| {
        let originals = entry.originals.load(Ordering::Relaxed);
        entry.context.compare_exchange(context.addr(), FREE, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        // SAFETY: only ever a reference for good.
        unsafe { originals.as_ref() }
    }))
}

/// The close failed: the context stays.
pub fn watch_again(context: *mut IbvContext, unwatched: Unwatched) {
    if let Some(originals) = unwatched.0 {
        enter(context.addr(), originals);
    }
}

/// The provider's own function for a context. For one that is not known (it was closed, and is used all the same) the
/// only one that there is.
fn original(context: usize, pointer: Pointer) -> Option<*mut c_void> {
    let known = ENTRIES.iter().find(|(_, entry)| entry.context.load(Ordering::Acquire) == context);
    let originals = match known {
        // SAFETY: only ever a reference for good.
        Some((_, entry)) => unsafe { entry.originals.load(Ordering::Relaxed).as_ref() },
        None => {
            let mut sets = SETS.iter().map(|(_, originals)| originals);
            sets.next().filter(|first| sets.all(|other| other == *first))
        }
    };
    originals.map(|originals| originals.0[pointer as usize] as *mut c_void).filter(|found| !found.is_null())
}

/// An inline verb's call on one context.
pub struct Inline<F: 'static> {
    name: &'static Real<F>,
    context: usize,
    pointer: Pointer,
}

impl<F: Copy> Real<F> {
    /// The pointer in `context` that this inline verb calls, which has its type.
    pub fn through(&'static self, context: *mut IbvContext, pointer: Pointer) -> Inline<F> {
        Inline { name: self, context: context.addr(), pointer }
    }
}

impl<F> Clone for Inline<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Inline<F> {}

impl<F: Copy> Callee for Inline<F> {
    type Function = F;
    fn named(self) -> &'static dyn Named {
        self.name
    }
    fn get(self, _: Owner, _: Sight) -> Option<F> {
        let found = original(self.context, self.pointer)?;
        // SAFETY: it stood at this pointer, so it has the pointer's type, which `through` was given.
        Some(unsafe { Real::<F>::at(found) })
    }
}

#[cfg(test)]
mod tests;
