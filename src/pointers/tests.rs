use std::collections::BTreeSet;
use std::mem::MaybeUninit;

use verbsguard_core::coverage::{At, all};

use super::*;
use crate::abi::types::{IbvMw, IbvPd};

/// A context as a provider makes it: every word a number of its own.
struct Fake {
    tail: Box<MaybeUninit<VerbsContextTail>>,
}

const WORDS: usize = size_of::<VerbsContextTail>() / size_of::<usize>();

impl Fake {
    /// `missing`: so many bytes at the head are not there.
    fn new(first: usize, missing: usize) -> Fake {
        let mut tail = Box::new(MaybeUninit::<VerbsContextTail>::uninit());
        let words = tail.as_mut_ptr().cast::<usize>();
        for at in 0..WORDS {
            // SAFETY: within the struct that was just allocated.
            unsafe { *words.add(at) = first + at };
        }
        // SAFETY: as above.
        unsafe {
            (*tail.as_mut_ptr()).sz = size_of::<VerbsContextTail>() - missing;
            (*tail.as_mut_ptr()).context.abi_compat = ABI_IS_EXTENDED;
        }
        Fake { tail }
    }

    fn context(&mut self) -> *mut IbvContext {
        // SAFETY: only the address of a field.
        unsafe { &raw mut (*self.tail.as_mut_ptr()).context }
    }

    fn words(&mut self) -> Vec<usize> {
        let words = self.tail.as_mut_ptr().cast::<usize>();
        // SAFETY: all words were written in `new`.
        (0..WORDS).map(|at| unsafe { *words.add(at) }).collect()
    }
}

fn place_of(pointer: Pointer) -> usize {
    let context = offset_of!(VerbsContextTail, context);
    context.wrapping_add_signed(pointer.offset()) / size_of::<usize>()
}

#[test]
fn what_the_coverage_page_lists_is_replaced_and_nothing_else() {
    let listed: BTreeSet<&str> = all()
        .filter_map(|call| match call.at {
            At::Pointer(_, field) => Some(field),
            At::Symbol(_) => None,
        })
        .collect();
    let replaced: BTreeSet<&str> = Pointer::ALL.iter().map(|pointer| pointer.name()).collect();
    assert_eq!(replaced, listed);

    let mut fake = Fake::new(0x1000, 0);
    let before = fake.words();
    watch(fake.context());
    let after = fake.words();
    let changed: BTreeSet<usize> = (0..WORDS).filter(|at| before[*at] != after[*at]).collect();
    let expected: BTreeSet<usize> = Pointer::ALL.iter().map(|pointer| place_of(*pointer)).collect();
    assert_eq!(changed, expected);
    unwatch(fake.context());
}

#[test]
fn a_smaller_struct_is_not_reached_beyond_its_head() {
    let missing = offset_of!(VerbsContextTail, reg_dm_mr);
    let mut fake = Fake::new(0x2000, missing);
    let before = fake.words();
    watch(fake.context());
    let after = fake.words();
    let head = missing / size_of::<usize>();
    assert_eq!(before[..head], after[..head]);
    assert_ne!(before[head], after[head], "the first that is there");
    unwatch(fake.context());
}

#[test]
fn a_context_that_is_not_extended_has_its_ops_only() {
    let mut fake = Fake::new(0x3000, 0);
    // SAFETY: the fake's own field.
    unsafe { (*fake.context()).abi_compat = std::ptr::null_mut() };
    let before = fake.words();
    watch(fake.context());
    let changed = before.iter().zip(fake.words()).filter(|(before, after)| **before != *after).count();
    assert_eq!(changed, 2);
    unwatch(fake.context());
}

#[test]
fn what_the_provider_lacks_stays_null() {
    let mut fake = Fake::new(0x4000, 0);
    // SAFETY: the fake's own field.
    unsafe { (*fake.tail.as_mut_ptr()).create_wq = std::ptr::null_mut() };
    watch(fake.context());
    // SAFETY: as above.
    assert!(unsafe { (*fake.tail.as_ptr()).create_wq }.is_null());
    assert_eq!(original(fake.context().addr(), Pointer::CreateWq), None);
    unwatch(fake.context());
}

#[test]
fn each_context_leads_to_its_own_provider() {
    let (mut one, mut other) = (Fake::new(0x5000, 0), Fake::new(0x6000, 0));
    watch(one.context());
    watch(other.context());
    for pointer in Pointer::ALL {
        let own = |first: usize| Some((first + place_of(*pointer)) as *mut c_void);
        assert_eq!(original(one.context().addr(), *pointer), own(0x5000), "{pointer:?}");
        assert_eq!(original(other.context().addr(), *pointer), own(0x6000), "{pointer:?}");
    }
    // Watched twice: what was there first still counts.
    watch(one.context());
    assert_eq!(original(one.context().addr(), Pointer::AllocMw).map(|at| at as usize & 0xf000), Some(0x5000));

    let taken = unwatch(one.context());
    assert_eq!(original(one.context().addr(), Pointer::AllocMw), None, "two providers: which one is not known");
    watch_again(one.context(), taken);
    assert_eq!(original(one.context().addr(), Pointer::AllocMw).map(|at| at as usize & 0xf000), Some(0x5000));
    unwatch(one.context());
    unwatch(other.context());
}

#[test]
fn entries_are_used_again() {
    let mut fake = Fake::new(0x7000, 0);
    watch(fake.context());
    unwatch(fake.context());
    let entries = ENTRIES.count();
    for _ in 0..100 {
        let mut again = Fake::new(0x7000, 0);
        watch(again.context());
        unwatch(again.context());
    }
    // Other tests of this process may have made some at the same time.
    assert!(ENTRIES.count() < entries + 20, "{}", ENTRIES.count());
}

#[test]
fn a_call_through_the_pointer_reaches_the_provider() {
    unsafe extern "C-unwind" fn provider(mw: *mut IbvMw) -> std::ffi::c_int {
        // SAFETY: the test's own struct.
        unsafe { (*mw).rkey = 77 };
        5
    }
    let mut fake = Fake::new(0x8000, 0);
    // SAFETY: the fake's own field.
    unsafe { (*fake.context()).ops.dealloc_mw = provider as *mut c_void };
    watch(fake.context());
    let mut mw = IbvMw { context: fake.context(), pd: std::ptr::null_mut::<IbvPd>(), rkey: 0, handle: 0 };
    // SAFETY: the wrapper, which has this type.
    let answer = unsafe { inline::dealloc_mw(&raw mut mw) };
    assert_eq!((answer, mw.rkey), (5, 77));
    unwatch(fake.context());
}
