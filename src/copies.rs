//! Which copies of libibverbs and libmlx5 this process has, and which of them a call is for.
//!
//! A wheel brings copies along, under names of their own, and they stand beside the system's. What lies behind the
//! public structs differs between versions, so a context may only be given to the copy that made it. It is known by code
//! addresses in the context: its operations are the provider's, and one of them is a private function of the libibverbs
//! that opened it. A call that names no context goes where the loader would have bound it without the guard.
//!
//! As long as all contexts come from the first copy met, nothing of this is asked.

mod loaded;

use std::ffi::{CStr, CString, c_void};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::sync::OnceCell;

use crate::abi::types::{
    ABI_IS_EXTENDED, IbvContext, IbvContextOps, IbvDevice, Made, Mlx5dvDevxUmem, VerbsContextTail, VerbsDevice,
};
use crate::peek;
pub use loaded::Symbol;
use loaded::{Loaded, load};

/// So many copies of a library keep what was looked up in them; in more it is looked up each time.
pub const MOST: usize = 8;

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

    /// A function that every copy has, and that nobody but a copy has: not the guard, nor another tool like it.
    fn hallmark(self) -> Symbol {
        match self {
            Provider::Verbs => Symbol { name: c"ibv_fork_init", node: c"IBVERBS_1.1" },
            Provider::Mlx5 => Symbol { name: c"mlx5dv_query_device", node: c"MLX5_1.0" },
        }
    }

    fn copies(self) -> &'static boxcar::Vec<Loaded> {
        static COPIES: [boxcar::Vec<Loaded>; 2] = [boxcar::Vec::new(), boxcar::Vec::new()];
        &COPIES[self as usize]
    }

    /// Where its copies lie that calls went to.
    pub fn paths(self) -> Vec<PathBuf> {
        self.copies().iter().map(|(_, copy)| copy.path()).collect()
    }

    /// The first copy: the one that an option names, or the first that a call was for, or the one of the usual name.
    fn first(self) -> Option<&'static Loaded> {
        self.chosen();
        if self.copies().count() == 0 {
            self.add(load(self.soname())?);
        }
        self.copies().get(0)
    }

    /// Options `libibverbs` and `libmlx5`.
    fn chosen(self) {
        if self.copies().count() == 0
            && let Some(path) = PATHS.get().and_then(|paths| paths[self as usize].as_ref())
            && let Ok(path) = CString::new(path.as_os_str().as_bytes())
            && let Some(copy) = load(&path)
        {
            self.add(copy);
        }
    }

    /// The place of a copy among those that are known.
    fn add(self, new: Loaded) -> usize {
        let copies = self.copies();
        let known = |copy: &Loaded| copies.iter().find(|(_, known)| *known == copy).map(|(place, _)| place);
        // Two threads may add one at once: the earlier place is everybody's.
        let place = known(&new).unwrap_or_else(|| known(&copies[copies.push(new)]).unwrap_or(0));
        MET[self as usize].fetch_max(place + 1, Ordering::Release);
        place
    }
}

/// How many copies of each library have been met.
static MET: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

static PATHS: OnceCell<[Option<PathBuf>; 2]> = OnceCell::new();

/// Options `libibverbs` and `libmlx5`: they name the copies that are taken where nothing tells of another.
pub fn set_paths(verbs: Option<PathBuf>, mlx5: Option<PathBuf>) {
    let _ = PATHS.set([verbs, mlx5]);
}

/// What tells which copy a call is for. Addresses are the program's own, and may be anything.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// A context.
    Context(usize),
    /// A struct of a context's: most hold it at their head, a UMEM further in, and of some only the tracker knows it.
    Object(usize),
    /// A place where the address of such a struct stands.
    Named(usize),
    /// A device, before there is a context.
    Device(usize),
    /// A device file's descriptor: nothing tells but who calls, and a new context comes of it.
    Descriptor,
    /// Nothing but who calls.
    Caller,
}

impl From<*mut IbvContext> for Owner {
    fn from(context: *mut IbvContext) -> Owner {
        Owner::Context(context.addr())
    }
}

impl From<*mut IbvDevice> for Owner {
    fn from(device: *mut IbvDevice) -> Owner {
        Owner::Device(device.addr())
    }
}

impl From<*mut Mlx5dvDevxUmem> for Owner {
    fn from(umem: *mut Mlx5dvDevxUmem) -> Owner {
        Owner::Object(umem.addr())
    }
}

impl<T: Made> From<*mut T> for Owner {
    fn from(made: *mut T) -> Owner {
        Owner::Object(made.addr())
    }
}

/// How much is known of what a call names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It was made, or met, in a context that was looked at then.
    Known,
    /// It may have been made where the guard did not see it.
    Unknown,
    /// The call is made from inside another one, or nothing is tracked: no lock of ours may be taken.
    Blind,
}

/// The place, among the copies of `provider`, of the one that a call of `symbol` is for. None where nothing tells.
#[inline(always)]
pub fn place(provider: Provider, symbol: &Symbol, owner: Owner, sight: Sight) -> Option<usize> {
    let is_met = match owner {
        // A new context comes of it.
        Owner::Device(_) | Owner::Descriptor => false,
        Owner::Context(_) | Owner::Object(_) | Owner::Named(_) | Owner::Caller => sight != Sight::Unknown,
    };
    let is_only_one = MET[provider as usize].load(Ordering::Acquire) == 1;
    if is_met && is_only_one { Some(0) } else { ask(provider, symbol, owner, sight) }
}

#[cold]
fn ask(provider: Provider, symbol: &Symbol, owner: Owner, sight: Sight) -> Option<usize> {
    let before = crate::call::errno();
    let found = crate::call::own(|| {
        provider.chosen();
        maker(provider, owner, sight).or_else(|| bound(provider, *symbol))
    });
    crate::call::set_errno(before);
    found.ok().flatten()
}

/// The copy that made what a call names.
fn maker(provider: Provider, owner: Owner, sight: Sight) -> Option<usize> {
    if sight != Sight::Blind
        && let Some(place) = of_tracked(provider, owner)
    {
        return Some(place);
    }
    match owner {
        Owner::Context(context) => of_context(provider, context, word),
        Owner::Object(object) => of_object(provider, object),
        Owner::Named(place) => of_object(provider, word(place)?),
        Owner::Device(device) => of_device(provider, device),
        Owner::Descriptor | Owner::Caller => None,
    }
}

/// The same where the tracker knows the context, and that it is open: then its memory is there.
fn of_tracked(provider: Provider, owner: Owner) -> Option<usize> {
    let tracker = &crate::guard::existing()?.tracker;
    let context = match owner {
        Owner::Context(context) => context,
        Owner::Object(object) => tracker.context_of(object)?,
        Owner::Named(_) | Owner::Device(_) | Owner::Descriptor | Owner::Caller => return None,
    };
    // SAFETY: an open context of the program's, within the size that it says it has.
    let read = |address: usize| Some(unsafe { std::ptr::read_volatile(address as *const usize) });
    if tracker.is_open_context(context) { of_context(provider, context, read) } else { None }
}

fn of_object(provider: Provider, object: usize) -> Option<usize> {
    // What is no context there holds no address of a copy's code.
    let places = [0, offset_of!(Mlx5dvDevxUmem, context)];
    places.into_iter().find_map(|offset| of_context(provider, word(object.checked_add(offset)?)?, word))
}

/// The word at an address, if it can be read.
fn word(address: usize) -> Option<usize> {
    peek::pointer::<c_void>(address).map(|found| found.addr())
}

/// The copy of which a context is; `read` gives the word at an address.
fn of_context(provider: Provider, context: usize, read: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let at = |offset: isize| read(context.checked_add_signed(offset)?);
    let before = |offset: usize| at(offset.cast_signed() - offset_of!(VerbsContextTail, context).cast_signed());
    let code = match provider {
        Provider::Mlx5 => at((offset_of!(IbvContext, ops) + offset_of!(IbvContextOps, compat_alloc_pd)).cast_signed())?,
        Provider::Verbs => {
            let is_extended = at(offset_of!(IbvContext, abi_compat).cast_signed())? == ABI_IS_EXTENDED.addr();
            if !is_extended || before(offset_of!(VerbsContextTail, sz))? < size_of::<VerbsContextTail>() {
                return None;
            }
            before(offset_of!(VerbsContextTail, query_port))?
        }
    };
    of_address(provider, code)
}

/// Whether a copy of libibverbs made what stands there.
pub fn made(context: *mut IbvContext) -> bool {
    let [verbs, _] = [Provider::Verbs, Provider::Mlx5].map(|provider| {
        provider.chosen();
        of_context(provider, context.addr(), word)
    });
    verbs.is_some()
}

/// A context was made, or is met: from here on its copies are known.
pub fn meet(context: *mut IbvContext) -> *mut IbvContext {
    let before = crate::call::errno();
    if !context.is_null() {
        let _ = crate::call::own(|| made(context));
    }
    crate::call::set_errno(before);
    context
}

/// The copy that a device comes from: its operations are the provider's, and its list's head is libibverbs' own.
fn of_device(provider: Provider, device: usize) -> Option<usize> {
    if provider == Provider::Mlx5 {
        return of_address(provider, word(device.checked_add(offset_of!(VerbsDevice, ops))?)?);
    }
    let mut link = device.checked_add(offset_of!(VerbsDevice, entry))?;
    for _ in 0..MOST_DEVICES {
        link = word(link)?;
        if let Some(place) = of_address(provider, link) {
            return Some(place);
        }
    }
    None
}

/// A host has no more devices: a list that goes on longer is none.
const MOST_DEVICES: usize = 1024;

/// The copies that have these addresses, of which each is one that a context or device holds.
static ADDRESSES: boxcar::Vec<(Provider, usize, usize)> = boxcar::Vec::new();

/// The copy that has this address.
fn of_address(provider: Provider, address: usize) -> Option<usize> {
    let known = ADDRESSES.iter().map(|(_, known)| *known).find(|known| (known.0, known.1) == (provider, address));
    if let Some((.., place)) = known {
        return Some(place);
    }
    let copy = Loaded::at(address).filter(|copy| copy.is_of(provider))?;
    copy.pin()?;
    let place = provider.add(copy);
    ADDRESSES.push((provider, address, place));
    Some(place)
}

/// Where the loader would have bound a caller's reference: in the global order, or else in the caller's own libraries.
fn bound(provider: Provider, symbol: Symbol) -> Option<usize> {
    let caller = crate::stacks::caller().and_then(Loaded::at);
    if let Some(caller) = caller.filter(|caller| caller.is_of(provider)) {
        caller.pin()?;
        return Some(provider.add(caller));
    }
    // The guard comes before all others in the global order.
    let found = Loaded(libc::RTLD_NEXT).find(symbol).or_else(|| caller?.ask(symbol))?;
    of_address(provider, found)
}

/// The address of a function in the copy at this place. Where no copy was met, the first one is loaded, if it may.
pub fn look_up(provider: Provider, symbol: Symbol, place: usize, may_load: bool) -> Option<usize> {
    let before = crate::call::errno();
    let copy = if place == 0 && may_load { provider.first() } else { provider.copies().get(place) };
    let found = copy.and_then(|copy| copy.find(symbol));
    crate::call::set_errno(before);
    found
}

/// How many copies of a library were met.
pub fn count(provider: Provider) -> usize {
    provider.copies().count()
}

#[cfg(test)]
mod tests;
