//! The way of a call through the house: the same for every interposed function.
//!
//! ```text
//! nested? then only forward → before: check, report, record → forward → after: commit, report → errno → return
//! ```
//!
//! The forwarded call runs outside every lock, Drop value and catch_unwind of ours: it may end in pthread_exit, and a
//! panic of ours costs a finding, never the call.

use std::ffi::c_int;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use verbsguard_core::site::Site;
use verbsguard_core::track::Mark;

use crate::copies::{Owner, Sight};
use crate::depth::Frame;
use crate::guard::{self, Guard};
use crate::real::{Named, Real};
use crate::stacks::Entry;
use crate::thread;

/// How a function fails.
pub trait Answer {
    /// The answer of a call that failed with `errno`.
    fn failed(errno: c_int) -> Self;
}

/// NULL with errno set.
impl<T> Answer for *mut T {
    fn failed(errno: c_int) -> Self {
        set_errno(errno);
        std::ptr::null_mut()
    }
}

/// The errno value as result. errno itself is set too, as the kernel call behind these functions does.
impl Answer for c_int {
    fn failed(errno: c_int) -> Self {
        set_errno(errno);
        errno
    }
}

/// -1 with errno set (`ibv_close_device`, `ibv_rereg_mr`).
#[derive(Clone, Copy)]
pub struct MinusOne(pub c_int);

impl Answer for MinusOne {
    fn failed(errno: c_int) -> Self {
        set_errno(errno);
        MinusOne(-1)
    }
}

/// Nothing to tell.
impl Answer for () {
    fn failed(_: c_int) -> Self {}
}

/// What the phase before the real call decided.
#[derive(Clone, Copy)]
pub enum Decision<T> {
    /// Forward; the token is what the phase after the call needs. None: nothing to do then.
    Forward(Option<T>),
    /// Fail the call with this errno value.
    Refuse(c_int),
}

/// A function that is called: a symbol of a real library, or a pointer in a context.
pub trait Callee: Copy {
    /// Its type.
    type Function: Copy;
    /// What reports call it.
    fn named(self) -> &'static dyn Named;
    /// The real one for a call that is about `owner`, where there is one.
    fn get(self, owner: Owner, sight: Sight) -> Option<Self::Function>;
}

impl<F: Copy + 'static> Callee for &'static Real<F> {
    type Function = F;
    fn named(self) -> &'static dyn Named {
        self
    }
    #[inline(always)]
    fn get(self, owner: Owner, sight: Sight) -> Option<F> {
        Real::get(self, owner, sight)
    }
}

/// Takes one call of `callee` through the house. `about` tells whose copy of the real library it is for; `before` and
/// `after` are ours and may fail; `forward` is the real call. Tokens are Copy, so that nothing needs dropping while the
/// real call runs. A function that the real library lacks fails with EOPNOTSUPP and does nothing, so there is nothing to
/// judge either.
#[inline(always)]
pub fn run<C: Callee, R: Answer, T: Copy>(
    callee: C,
    about: impl Into<Owner>,
    before: impl FnOnce(&'static Guard) -> Decision<T>,
    forward: impl FnOnce(C::Function) -> R,
    after: impl FnOnce(&'static Guard, T, &R),
) -> R {
    let entry = Entry::now();
    let owner = about.into();
    let before = |guard| match callee.get(owner, Sight::Known) {
        Some(_) => before(guard),
        None => Decision::Forward(None),
    };
    let forward = |sight| callee.get(owner, sight).map(forward);
    if Frame::new().is_nested() {
        return forward(Sight::Blind).unwrap_or_else(lacking);
    }
    let answer = apart(|| watched(callee.named(), entry, before, forward, after));
    // So the call above is no jump: the frame that `entry` tells of stays.
    black_box(&entry);
    answer
}

/// The answer of a call to a function that the real library lacks.
fn lacking<R: Answer>() -> R {
    R::failed(libc::EOPNOTSUPP)
}

/// Puts some stack between the exported function and the mark of its call. A call that was left by siglongjmp leaves its
/// mark behind; the next call from the same depth then stands above that mark, and is not taken for a nested one.
#[inline(never)]
fn apart<R>(call: impl FnOnce() -> R) -> R {
    let distance = MaybeUninit::<[u8; 1024]>::uninit();
    black_box(&distance);
    let result = call();
    black_box(&distance);
    result
}

#[inline(never)]
fn watched<R: Answer, T: Copy>(
    function: &'static dyn Named,
    entry: Entry,
    before: impl FnOnce(&'static Guard) -> Decision<T>,
    forward: impl FnOnce(Sight) -> Option<R>,
    after: impl FnOnce(&'static Guard, T, &R),
) -> R {
    let frame = Frame::new();
    frame.enter();
    let errno = errno_address();
    let entry_errno = get(errno);
    begin(entry);
    let decision = phase(|| {
        let guard = guard::get()?;
        function.note_call();
        Some((guard, before(guard)))
    });
    set(errno, entry_errno);
    let (answer, rest) = match decision {
        Ok(Some((guard, Decision::Refuse(errno)))) => (Some(R::failed(errno)), Some((guard, None))),
        Ok(Some((guard, Decision::Forward(token)))) => {
            let sight = if token.is_some() { Sight::Known } else { Sight::Unknown };
            (forward(sight), Some((guard, token)))
        }
        Ok(None) => (forward(Sight::Blind), None),
        Err(_) => {
            guard::give_up();
            (forward(Sight::Blind), None)
        }
    };
    let (answer, is_missing) = match answer {
        Some(answer) => (answer, false),
        None => (lacking(), true),
    };
    let answer_errno = get(errno);
    if let Some((guard, token)) = rest {
        let told = match token {
            _ if is_missing => phase(|| guard.provider_lacks(function)),
            Some(token) => phase(|| after(guard, token, &answer)),
            None => Ok(()),
        };
        if told.is_err() {
            guard::give_up();
        }
    }
    begin(Entry::NONE);
    frame.leave();
    set(errno, answer_errno);
    answer
}

/// A phase of ours: its panics are caught, and what held off cancellation is taken back at its end.
#[inline(always)]
fn phase<R>(phase: impl FnOnce() -> R) -> std::thread::Result<R> {
    let result = catch_unwind(AssertUnwindSafe(phase));
    unshield();
    result
}

/// What is not a phase of a call, and may do anything: shielded from the start.
pub fn own<R>(work: impl FnOnce() -> R) -> std::thread::Result<R> {
    let is_outermost = thread::this().shield.get() == 0;
    shield();
    let result = catch_unwind(AssertUnwindSafe(work));
    if is_outermost {
        unshield();
    }
    result
}

/// Holds off a pthread_cancel until the present phase is over. For all that opens, reads or writes files: these are
/// cancellation points that the real call has not, and unwinding from there would abort the program. What only looks at
/// memory needs none, and goes without, for this takes as long as all the rest of a call.
pub fn shield() {
    let shield = &thread::this().shield;
    if shield.get() == 0 {
        shield.set(set_cancel_state(PTHREAD_CANCEL_DISABLE) + 1);
    }
}

fn unshield() {
    let shield = &thread::this().shield;
    if shield.get() != 0 {
        set_cancel_state(shield.replace(0) - 1);
    }
}

/// pthread_setcancelstate(3).
pub const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// Sets whether this thread can be cancelled; answers what held before.
pub fn set_cancel_state(state: c_int) -> c_int {
    unsafe extern "C-unwind" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    let mut old = 0;
    // SAFETY: changes this thread's own state. It may unwind where a cancellation is due and states are asynchronous:
    // no caller holds a value that needs dropping then.
    unsafe { pthread_setcancelstate(state, &raw mut old) };
    old
}

/// Another call begins, or none is under way any more.
pub fn begin(entry: Entry) {
    let thread = thread::this();
    thread.entry.set(entry);
    thread.site.set(0);
    thread.time.set(0);
}

/// The stack of the call under way. Taken once for each call.
pub fn site() -> Site {
    let thread = thread::this();
    let known = thread.site.get();
    if known != 0 {
        return Site((known >> 1) as u32);
    }
    let site = crate::stacks::capture(thread.entry.get());
    thread.site.set(u64::from(site.0) << 1 | 1);
    site
}

/// When the call under way was made, in nanoseconds since 1970. Asked once for each call.
pub fn time() -> u64 {
    let time = &thread::this().time;
    if time.get() == 0 {
        time.set(crate::world::now());
    }
    time.get()
}

/// Now and here.
pub fn mark() -> Mark {
    Mark { site: site(), time: time() }
}

fn errno_address() -> *mut c_int {
    // SAFETY: answers this thread's own errno, always valid.
    unsafe { libc::__errno_location() }
}

fn get(errno: *mut c_int) -> c_int {
    // SAFETY: this thread's own errno, which lives as long as the thread.
    unsafe { *errno }
}

fn set(errno: *mut c_int, value: c_int) {
    // SAFETY: as above.
    unsafe { *errno = value }
}

pub fn errno() -> c_int {
    get(errno_address())
}

pub fn set_errno(value: c_int) {
    set(errno_address(), value);
}
