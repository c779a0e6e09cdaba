//! Stacks: taken when something happens, named when it is reported.
//!
//! Taking a stack that was seen before allocates nothing and takes no lock of ours. A new one is kept for good, with the
//! module of each frame, for the module may be gone when a report wants it.

mod again;
mod modules;
#[cfg(target_arch = "x86_64")]
mod rules;
mod unwind;

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use verbsguard_core::options::MAX_STACK;
use verbsguard_core::site::{Frame, Resolve, Site};
use verbsguard_core::symbols::Symbols;

use again::Trail;
use modules::Module;
pub use unwind::Entry;

/// More different stacks than this are not kept; events there have no site.
const MAX_SITES: u32 = 1 << 20;

/// Chains of stacks with the same hash: a power of two.
const CHAINS: usize = 1 << 12;

/// Frames kept for each stack. 0 keeps the caller only.
static DEPTH: AtomicUsize = AtomicUsize::new(16);

static STACKS: boxcar::Vec<Stack> = boxcar::Vec::new();

/// The newest stack of each chain, as a site; 0 ends a chain.
static NEWEST: [AtomicU32; CHAINS] = [const { AtomicU32::new(0) }; CHAINS];

struct Stack {
    hash: u64,
    places: Box<[Place]>,
    /// The next older stack of this chain.
    older: AtomicU32,
}

struct Place {
    address: usize,
    module: Option<&'static Module>,
}

/// How many frames to keep from now on; 0 keeps the caller only.
pub fn set_depth(depth: usize) {
    DEPTH.store(depth.min(MAX_STACK), Ordering::Relaxed);
}

/// Where the program called us: the stack without our own frames. [`Site::NONE`] where none can be had. `entry` is where
/// it entered us, if that is known.
#[inline]
pub fn capture(entry: &Cell<Entry>) -> Site {
    entry.get().known().unwrap_or_else(|| take(entry.get()))
}

/// The usual depth and less.
const SHALLOW: usize = 16;

#[cold]
fn take(entry: Entry) -> Site {
    match DEPTH.load(Ordering::Relaxed).max(1) {
        depth @ ..=SHALLOW => take_into(entry, &mut [0; SHALLOW][..depth]),
        depth => take_into(entry, &mut [0; MAX_STACK][..depth]),
    }
}

fn take_into(entry: Entry, addresses: &mut [usize]) -> Site {
    let mut trail = Trail::new();
    let len = unwind::walk(entry, addresses, modules::own_code(), &mut trail);
    let site = intern(&addresses[..len]);
    entry.keep(&trail, site);
    site
}

/// Where the program called us: in the call that did.
pub fn caller() -> Option<usize> {
    let mut one = [0];
    (unwind::walk(Entry::NONE, &mut one, modules::own_code(), &mut Trail::new()) == 1).then_some(one[0])
}

fn intern(addresses: &[usize]) -> Site {
    if addresses.is_empty() {
        return Site::NONE;
    }
    let hash = hash(addresses);
    let newest = &NEWEST[hash as usize % CHAINS];
    let mut head = newest.load(Ordering::Acquire);
    if let Some(site) = find(head, 0, hash, addresses) {
        return site;
    }
    let Some(site) = keep(hash, addresses) else { return Site::NONE };
    let Some(stack) = get(site) else { return Site::NONE };
    loop {
        stack.older.store(head, Ordering::Relaxed);
        match newest.compare_exchange(head, site.0, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return site,
            // Another thread was faster. If it kept this very stack, ours stays unused.
            Err(now) => match find(now, head, hash, addresses) {
                Some(theirs) => return theirs,
                None => head = now,
            },
        }
    }
}

/// Looks from one stack of a chain to another, which is not looked at.
fn find(from: u32, until: u32, hash: u64, addresses: &[usize]) -> Option<Site> {
    let mut site = from;
    while site != until {
        let stack = get(Site(site))?;
        if stack.hash == hash && stack.places.iter().map(|place| place.address).eq(addresses.iter().copied()) {
            return Some(Site(site));
        }
        site = stack.older.load(Ordering::Acquire);
    }
    None
}

#[cold]
fn keep(hash: u64, addresses: &[usize]) -> Option<Site> {
    if STACKS.count() >= MAX_SITES as usize {
        return None;
    }
    crate::call::shield();
    let modules = modules::of(addresses);
    let places = addresses.iter().zip(modules).map(|(&address, module)| Place { address, module }).collect();
    let index = STACKS.push(Stack { hash, places, older: AtomicU32::new(0) });
    u32::try_from(index + 1).ok().map(Site)
}

fn get(site: Site) -> Option<&'static Stack> {
    STACKS.get((site.0 as usize).checked_sub(1)?)
}

fn hash(addresses: &[usize]) -> u64 {
    // Multiply and rotate, as FxHash does; the last rotation brings good bits to the low end.
    let mix = |hash: u64, &address: &usize| (hash.rotate_left(5) ^ address as u64).wrapping_mul(0x517c_c1b7_2722_0a95);
    addresses.iter().fold(0, mix).rotate_left(26)
}

/// Names the stacks of this process.
pub struct Resolver;

/// In a forked child another thread's lock may be held for good, so a child gets a new one.
static SYMBOLS: AtomicPtr<Mutex<Symbols>> = AtomicPtr::new(std::ptr::null_mut());

/// Whoever waits longer for another thread's look-ups (or, in a signal handler, for its own) goes without names.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells that this process is a forked child: what is locked stays with the parent.
pub fn after_fork_in_child() {
    // The parent's own is leaked: it may be half way through a change.
    SYMBOLS.store(std::ptr::null_mut(), Ordering::Release);
}

fn symbols() -> &'static Mutex<Symbols> {
    let known = SYMBOLS.load(Ordering::Acquire);
    let symbols = if known.is_null() { first_symbols() } else { known };
    // SAFETY: made by Box::into_raw, and never freed once it is stored.
    unsafe { &*symbols }
}

fn first_symbols() -> *mut Mutex<Symbols> {
    let new = Box::into_raw(Box::<Mutex<Symbols>>::default());
    match SYMBOLS.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(theirs) => {
            // SAFETY: ours, and nobody has seen it.
            drop(unsafe { Box::from_raw(new) });
            theirs
        }
    }
}

/// The frames of a stack without names, for others to spell.
pub fn bare(site: Site) -> Vec<Frame> {
    get(site).map(|stack| stack.places.iter().map(Place::frame).collect()).unwrap_or_default()
}

/// Names the frames of a stack, wherever it was taken, as far as its modules can be read here.
pub fn spell(bare: Vec<Frame>) -> Vec<Frame> {
    crate::call::shield();
    match symbols().try_lock_for(PATIENCE) {
        Some(mut symbols) => symbols.spell(bare),
        None => bare,
    }
}

impl Resolve for Resolver {
    fn resolve(&self, site: Site) -> Vec<Frame> {
        spell(bare(site))
    }
}

impl Place {
    fn frame(&self) -> Frame {
        let Some(module) = self.module else { return Frame { offset: self.address as u64, ..Frame::default() } };
        Frame {
            module: module.path.clone(),
            offset: self.address.wrapping_sub(module.base) as u64,
            build_id: module.build_id.clone(),
            ..Frame::default()
        }
    }
}

#[cfg(test)]
mod tests;
