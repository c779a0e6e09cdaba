//! The one guard of this process: made at the first verbs call, replaced in a forked child.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use verbsguard_core::check::Policy;
use verbsguard_core::options::{Mode, Options};
use verbsguard_core::report::{Reporter, Suppressions, Tally};
use verbsguard_core::track::{ContextOrigin, DeviceFile, ForkLocks, Inheritance, Me, Tracker, patience};

use crate::depth::Frame;
use crate::log::Log;
use crate::process;
use crate::thread;
use crate::world::World;

/// The guard of this process.
pub struct Guard {
    pub tracker: Tracker,
    pub world: World,
    pub options: Options,
    pub reporter: Reporter,
    pub tally: Mutex<Tally>,
    pub log: Log,
    /// Failed registrations by errno value.
    failures: Mutex<HashMap<c_int, u64>>,
    /// Functions that the real library lacks and that were told.
    lacks: Mutex<Vec<&'static str>>,
    told_trouble: AtomicBool,
    ended: AtomicBool,
}

static GUARD: AtomicPtr<Guard> = AtomicPtr::new(std::ptr::null_mut());

/// Held while the guard is made, and across fork. A forked child, in which it stays locked, has another.
static MAKING: AtomicPtr<Mutex<()>> = AtomicPtr::new((&raw const FIRST_MAKING).cast_mut());

static FIRST_MAKING: Mutex<()> = Mutex::new(());

fn making() -> &'static Mutex<()> {
    // SAFETY: a static, or leaked by `become_child`, and only ever shared.
    unsafe { &*MAKING.load(Ordering::Acquire) }
}

/// The program is not one that `only=` names: forward and nothing else.
static DISABLED: AtomicBool = AtomicBool::new(false);

/// The guard, made at the first call. None where this program is not to be guarded.
#[inline(always)]
pub fn get() -> Option<&'static Guard> {
    process::ready().or_else(get_ready)
}

#[cold]
fn get_ready() -> Option<&'static Guard> {
    if process::is_new_child() {
        become_child();
    }
    if DISABLED.load(Ordering::Relaxed) {
        return None;
    }
    let guard = existing().or_else(make)?;
    process::set_ready(guard);
    if DISABLED.load(Ordering::SeqCst) {
        // Another thread has just given up.
        process::set_ready(std::ptr::null());
        return None;
    }
    Some(guard)
}

/// Something of ours failed: what is known may be wrong from here on, so nothing is said any more, and calls are only
/// forwarded.
pub fn give_up() {
    let was_disabled = DISABLED.swap(true, Ordering::SeqCst);
    process::set_ready(std::ptr::null());
    if !was_disabled && let Some(guard) = existing() {
        let why = LAST_PANIC.try_lock().and_then(|why| why.clone()).unwrap_or_default();
        guard.log.say(&format!("internal error, the guard only forwards from here on: {why}"));
    }
}

/// What a panic of ours said, for `give_up`.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Our own copy of the standard library has a panic hook of its own: it must not write to the program's stderr.
fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(mut last) = LAST_PANIC.try_lock() {
            *last = Some(panic.to_string().replace('\n', " "));
        }
    }));
}

/// The guard, if this process has made one.
pub fn existing() -> Option<&'static Guard> {
    // SAFETY: null, or leaked by `install`, so valid for good.
    unsafe { GUARD.load(Ordering::Acquire).as_ref() }
}

fn install(guard: Guard) -> &'static Guard {
    let guard: &'static Guard = Box::leak(Box::new(guard));
    GUARD.store(std::ptr::from_ref(guard).cast_mut(), Ordering::Release);
    guard
}

#[cold]
fn make() -> Option<&'static Guard> {
    crate::call::shield();
    verbsguard_ledger::before_file_work(crate::call::shield);
    process::watch_for_forks();
    let _making = patience::lock(making());
    if let Some(guard) = existing() {
        return Some(guard);
    }
    keep_panics_quiet();
    let sources = crate::settings::sources();
    let (options, complaints) = Options::parse(&sources.iter().map(String::as_str).collect::<Vec<_>>());
    let me = me();
    if !options.covers(&me.comm) {
        DISABLED.store(true, Ordering::Relaxed);
        return None;
    }
    crate::copies::set_paths(options.libibverbs.clone(), options.libmlx5.clone());
    crate::stacks::set_depth(options.stack);
    let (suppressions, more) = crate::settings::suppressions(&options);
    let guard = install(Guard::new(options, suppressions, |policy, me, _| Tracker::new(policy, me), me));
    guard.greet(complaints.iter().chain(&more));
    Some(guard)
}

fn me() -> Me {
    let comm = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    Me { pid: std::process::id(), comm: comm.trim_end().to_owned() }
}

impl Guard {
    fn new(
        options: Options,
        suppressions: Suppressions,
        tracker: impl FnOnce(Policy, Me, &World) -> Tracker,
        me: Me,
    ) -> Guard {
        let log = Log::new(&options, &me);
        let world = World::new(&options);
        let color = log.is_terminal();
        Guard {
            tracker: tracker(Policy(options.clone()), me, &world),
            world,
            reporter: Reporter::new(options.clone(), suppressions, color),
            options,
            tally: Mutex::default(),
            log,
            failures: Mutex::default(),
            lacks: Mutex::default(),
            told_trouble: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }
}

/// What is locked between fork's two ends.
struct Forking {
    _making: MutexGuard<'static, ()>,
    guard: Option<(&'static Guard, ForkLocks<'static>, MutexGuard<'static, Tally>)>,
}

/// The locks of a fork under way, for the thread that forks.
static FORKING: AtomicPtr<Forking> = AtomicPtr::new(std::ptr::null_mut());

/// A fork does not wait longer for calls of other threads; the child then begins with empty tables.
const FORK_PATIENCE: Duration = Duration::from_secs(5);

/// Takes every lock, so that the child finds whole tables. Not where this thread is inside a call of ours already (a
/// handler that forks): it may hold one of them.
pub fn lock_for_fork() {
    if Frame::new().is_nested(thread::this()) {
        return;
    }
    if process::is_new_child() {
        // A child that forks, too: what it inherited is locked for good.
        become_child();
    }
    let Some(making) = making().try_lock_for(FORK_PATIENCE) else { return };
    let guard = existing().map(|guard| (guard, guard.tracker.lock_for_fork(), patience::lock(&guard.tally)));
    let forking = Forking { _making: making, guard };
    FORKING.store(Box::into_raw(Box::new(forking)), Ordering::Relaxed);
}

fn take_forking() -> Option<Box<Forking>> {
    let forking = FORKING.swap(std::ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: what `lock_for_fork` stored, taken once.
    (!forking.is_null()).then(|| unsafe { Box::from_raw(forking) })
}

/// The parent goes on.
pub fn unlock_after_fork() {
    drop(take_forking());
}

/// This process was forked off a guarded one: what is known is the parent's, and inherited here. The old guard and its
/// locks are left as they are: threads that waited for them are gone.
#[cold]
fn become_child() {
    crate::call::shield();
    let forking = take_forking().map(Box::leak);
    MAKING.store(Box::into_raw(Box::default()), Ordering::Release);
    let Some(parent) = existing() else { return };
    GUARD.store(std::ptr::null_mut(), Ordering::Release);
    let options = parent.options.clone();
    let inherited = match forking {
        Some(Forking { guard: Some((_, locks, _)), .. }) => Some(locks.take()),
        _ => parent.tracker.try_lock_for_fork().map(|mut locks| {
            let tables = locks.take();
            std::mem::forget(locks);
            tables
        }),
    };
    crate::stacks::after_fork_in_child();
    let tracker = |policy, me, world: &World| match inherited {
        Some(tables) => inherit(policy, me, world, tables),
        None => Tracker::new(policy, me),
    };
    let (suppressions, _) = crate::settings::suppressions(&options);
    let child = Guard::new(options, suppressions, tracker, me());
    if child.options.covers(&child.tracker.me.comm) {
        install(child);
    } else {
        DISABLED.store(true, Ordering::Relaxed);
    }
}

/// A child's tracker, which tells others of itself as a holder of its own.
fn inherit(policy: Policy, me: Me, world: &World, tables: Inheritance) -> Tracker {
    let descriptors = tables.descriptors();
    Tracker::inherit(policy, me, tables, |file| {
        let (_, fd, device) = descriptors.iter().find(|(index, ..)| *index == file.index)?;
        world.join(&file.id?, device, *fd, false)
    })
}

impl Guard {
    /// Says what was wrong with the options, what `help` and `verbose` ask for.
    fn greet<'a>(&self, complaints: impl Iterator<Item = &'a String>) {
        for complaint in complaints {
            self.log.say(complaint);
        }
        if self.options.help {
            self.log.write(&verbsguard_core::options::help());
        }
    }

    /// The device file behind `cmd_fd`, known or new.
    pub fn device_file(&self, cmd_fd: c_int, device: &str, origin: ContextOrigin) -> &DeviceFile {
        let file = self.world.device_file(&self.tracker, cmd_fd, device, origin);
        self.tell_trouble();
        file
    }

    /// With `verbose=1`, once: what keeps processes from seeing each other.
    pub fn tell_trouble(&self) {
        if self.options.verbose
            && let Some(trouble) = self.world.trouble()
            && !self.told_trouble.swap(true, Ordering::Relaxed)
        {
            self.log.say(trouble);
        }
    }

    /// Whether this function has not been told to be missing before.
    pub fn first_lack(&self, function: &'static str) -> bool {
        let mut lacks = patience::lock(&self.lacks);
        let first = !lacks.contains(&function);
        if first {
            lacks.push(function);
        }
        first
    }

    /// Counts a failed registration; how many failed so now.
    pub fn count_failure(&self, error: c_int) -> u64 {
        let mut failures = patience::lock(&self.failures);
        let count = failures.entry(error).or_default();
        *count += 1;
        *count
    }

    /// The end of the process. The status it is to exit with instead of `status`, if it is another.
    pub fn at_exit(&self, status: c_int) -> Option<c_int> {
        // exit() called by a handler in the middle of a call of ours: a lock may be held for good.
        let given_up = DISABLED.load(Ordering::Relaxed);
        if given_up
            || Frame::new().is_nested(thread::this())
            || process::is_new_child()
            || self.ended.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        let (frame, thread) = (Frame::new(), thread::this());
        frame.enter(thread);
        thread.begin(crate::stacks::Entry::NONE);
        self.report_end();
        frame.leave(thread);
        let exitcode = c_int::from(self.options.exitcode);
        (status == 0 && exitcode != 0 && patience::lock(&self.tally).has_errors()).then_some(exitcode)
    }

    /// Whether the mode ends the process at an error.
    pub fn aborts(&self) -> bool {
        self.options.mode == Mode::Abort
    }
}
