//! The way of a call through the house: the same for every interposed function.
//!
//! ```text
//! nested? then only forward → before: check, report, record → forward → after: commit, report → errno → return
//! ```
//!
//! The forwarded call runs outside every lock, Drop value and catch_unwind of ours: it may end in pthread_exit, and a
//! panic of ours costs a finding, never the call.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use verbsguard_core::site::Site;
use verbsguard_core::track::Mark;

use crate::copies::{Owner, Sight};
use crate::depth::Frame;
use crate::guard::{self, Guard};
use crate::real::{Named, Real};
use crate::stacks::Entry;
use crate::thread::{self, Thread};

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
    /// Forward; the token is what the phase after the call needs. None: what the call names is not known, and there is
    /// nothing to do then.
    Forward(Option<T>),
    /// Forward; what the call does to what it names is recorded already.
    Done,
    /// Fail the call with this errno value.
    Refuse(c_int),
}

impl<T> Decision<T> {
    /// The same with another token.
    #[inline]
    pub fn map<U>(self, token: impl FnOnce(T) -> U) -> Decision<U> {
        match self {
            Decision::Forward(found) => Decision::Forward(found.map(token)),
            Decision::Done => Decision::Done,
            Decision::Refuse(errno) => Decision::Refuse(errno),
        }
    }
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
    let thread = thread::this();
    let frame = Frame::new();
    if frame.is_nested(thread) {
        return blindly(callee, owner, forward);
    }
    frame.enter(thread);
    let errno = errno_address();
    let entry_errno = get(errno);
    thread.begin(entry);
    let (mut known, mut decision) = (None, Decision::Forward(None));
    let told = phase(thread, || {
        let Some(guard) = guard::get() else { return };
        callee.named().note_call();
        let real = callee.get(owner, Sight::Known);
        known = Some((guard, real));
        if real.is_some() {
            decision = before(guard);
        }
    });
    set(errno, entry_errno);
    let answer = match (known, decision) {
        _ if told.is_err() => {
            guard::give_up();
            blindly(callee, owner, forward)
        }
        (Some((_, Some(real))), Decision::Done) => forward(real),
        (Some((guard, Some(real))), Decision::Forward(Some(token))) => {
            let answer = forward(real);
            let answer_errno = get(errno);
            finish(thread, || after(guard, token, &answer));
            set(errno, answer_errno);
            answer
        }
        (_, Decision::Refuse(errno)) => R::failed(errno),
        (Some((guard, _)), _) => match callee.get(owner, Sight::Unknown) {
            Some(real) => forward(real),
            None => {
                finish(thread, || guard.provider_lacks(callee.named()));
                lacking()
            }
        },
        (None, _) => blindly(callee, owner, forward),
    };
    thread.begin(Entry::NONE);
    frame.leave(thread);
    answer
}

/// Forwards a call that is not looked at.
#[inline(always)]
fn blindly<C: Callee, R: Answer>(callee: C, owner: Owner, forward: impl FnOnce(C::Function) -> R) -> R {
    callee.get(owner, Sight::Blind).map_or_else(lacking, forward)
}

/// The answer of a call to a function that the real library lacks.
fn lacking<R: Answer>() -> R {
    R::failed(libc::EOPNOTSUPP)
}

/// The phase after the real call.
#[inline(always)]
fn finish(thread: &Thread, work: impl FnOnce()) {
    if phase(thread, work).is_err() {
        guard::give_up();
    }
}

/// A phase of ours: its panics are caught, and what held off cancellation is taken back at its end.
#[inline(always)]
fn phase<R>(thread: &Thread, phase: impl FnOnce() -> R) -> std::thread::Result<R> {
    let result = catch_unwind(AssertUnwindSafe(phase));
    if thread.shield.get() != 0 {
        unshield(thread);
    }
    result
}

/// What is not a phase of a call, and may do anything: shielded from the start.
pub fn own<R>(work: impl FnOnce() -> R) -> std::thread::Result<R> {
    let thread = thread::this();
    let is_outermost = thread.shield.get() == 0;
    shield();
    let result = catch_unwind(AssertUnwindSafe(work));
    if is_outermost {
        unshield(thread);
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

#[cold]
fn unshield(thread: &Thread) {
    set_cancel_state(thread.shield.replace(0) - 1);
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

/// The stack of the call under way. Taken once for each call.
#[inline]
pub fn site() -> Site {
    let thread = thread::this();
    let known = thread.site.get();
    if known != 0 {
        return Site((known >> 1) as u32);
    }
    let site = crate::stacks::capture(&thread.entry);
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
