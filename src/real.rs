//! Calling the real libraries. The only transmute of this project is here.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::copies::{self, MOST, Owner, Provider, Sight, Symbol};
use crate::counter::Counter;

/// One function of the real libraries, at the version node that the guard exports it at. `F` is its type.
pub struct Real<F> {
    provider: Provider,
    symbol: Symbol,
    /// By the place of the copy.
    slots: [AtomicPtr<c_void>; MOST],
    /// Its number among the functions that were called, plus one; 0 until it is.
    number: AtomicU32,
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
        let slots = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
        let symbol = Symbol { name, node };
        Real { provider, symbol, slots, number: AtomicU32::new(0), if_loaded: false, kind: PhantomData }
    }

    /// The real function in the copy that a call is for, or None where that lacks it. Thread-safe.
    #[inline(always)]
    pub fn get(&self, owner: Owner, sight: Sight) -> Option<F> {
        match copies::place(self.provider, &self.symbol, owner, sight) {
            Some(place) => self.in_copy(place),
            None => self.in_any(),
        }
    }

    #[inline(always)]
    fn in_copy(&self, place: usize) -> Option<F> {
        let known = self.slots.get(place).map_or(std::ptr::null_mut(), |slot| slot.load(Ordering::Acquire));
        let found = if known.is_null() { self.look_up(place) } else { known };
        // SAFETY: the address is that of the symbol which has type F at this version node.
        (found != ABSENT).then(|| unsafe { Self::at(found) })
    }

    /// Where nothing tells which copy is meant: the first that has the function.
    #[cold]
    fn in_any(&self) -> Option<F> {
        (0..copies::count(self.provider).max(1)).find_map(|place| self.in_copy(place))
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
    fn look_up(&self, place: usize) -> *mut c_void {
        let may_load = !self.if_loaded;
        let found = copies::look_up(self.provider, self.symbol, place, may_load);
        let found = found.map_or(ABSENT, |address| address as *mut c_void);
        // What was not loaded yet may still come.
        let is_final = may_load || copies::count(self.provider) > place;
        if let Some(slot) = self.slots.get(place).filter(|_| is_final) {
            slot.store(found, Ordering::Release);
        }
        found
    }
}

/// What the rest of the guard asks of a function, whatever its type.
pub trait Named: Sync {
    fn name(&self) -> &'static str;
    fn node(&self) -> &'static str;
    fn provider(&self) -> Provider;
    fn count(&self) -> u64;
    fn note_call(&'static self);
    /// No copy that a call went to has it.
    fn is_missing(&self) -> bool;

    /// What the manual page calls the context that the call names.
    fn context_argument(&self) -> &'static str {
        if self.name().starts_with("mlx5dv_devx_umem_reg") { "ctx" } else { "context" }
    }
}

/// The functions that were called at least once; one for which two threads were first together stands there twice. No
/// lock: a child of fork would find it taken for good where another thread had it.
static CALLED: boxcar::Vec<&'static dyn Named> = boxcar::Vec::new();

/// Visits the functions that were called at least once, by name.
pub fn each_called(mut visit: impl FnMut(&'static dyn Named)) {
    let mut called: Vec<&'static dyn Named> = CALLED.iter().map(|(_, function)| *function).collect();
    called.sort_by_key(|function| (function.name(), std::ptr::from_ref(*function).addr()));
    called.dedup_by(|one, other| std::ptr::addr_eq(*one, *other));
    for function in called {
        visit(function);
    }
}

impl<F: Copy + 'static> Named for Real<F> {
    fn name(&self) -> &'static str {
        self.symbol.name.to_str().unwrap_or("?")
    }

    fn node(&self) -> &'static str {
        self.symbol.node.to_str().unwrap_or("?")
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn count(&self) -> u64 {
        match self.number.load(Ordering::Relaxed) {
            0 => 0,
            number => Counter(number as usize - 1).get(),
        }
    }

    fn note_call(&'static self) {
        let number = match self.number.load(Ordering::Relaxed) {
            0 => self.first_call(),
            number => number,
        };
        Counter(number as usize - 1).add();
    }

    fn is_missing(&self) -> bool {
        let mut found = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|slot| !slot.is_null());
        found.next() == Some(ABSENT) && found.all(|other| other == ABSENT)
    }
}

impl<F: Copy + 'static> Real<F> {
    #[cold]
    fn first_call(&'static self) -> u32 {
        let number = u32::try_from(CALLED.push(self) + 1).unwrap_or(u32::MAX);
        // Where another thread was faster its number holds, and this one is nobody's.
        self.number.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(number)
    }
}

// SAFETY: F is a function pointer type; the fields are atomics and static strings.
unsafe impl<F> Sync for Real<F> {}
