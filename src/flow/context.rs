//! Contexts: open, import, close.

use std::ffi::{CStr, c_int};
use std::sync::Arc;

use parking_lot::Mutex;
use verbsguard_core::check::{Fault, errno};
use verbsguard_core::options::Leaks;
use verbsguard_core::rules::{Rule, Severity};
use verbsguard_core::track::{BirthToken, CloseToken, ContextOrigin, OpenedContext};
use verbsguard_ledger::identity;

use crate::abi::types::{CName, IbvContext, IbvDevice};
use crate::call::Decision;
use crate::copies::{self, Sight};
use crate::guard::Guard;
use crate::peek;
use crate::real::{Named, Real};

impl Guard {
    /// After a call that opened or imported a context.
    pub fn after_open(&self, function: &dyn Named, context: *mut IbvContext, origin: ContextOrigin) {
        if context.is_null() {
            return;
        }
        let cmd_fd = self.take_in(context, origin);
        crate::pointers::watch(context);
        if origin == ContextOrigin::Imported {
            let faults = self.tracker.imported_fd(cmd_fd, context.addr());
            self.tell(function, Some("cmd_fd"), &faults);
        }
    }

    pub fn before_close(&self, function: &dyn Named, context: *mut IbvContext) -> Decision<CloseToken> {
        if let Some(errno) = self.refuse_null(function, "context", context.addr()) {
            return Decision::Refuse(errno);
        }
        self.forget_if_reborn(context.addr());
        let verdict = self.tracker.begin_close(context.addr(), &self.world);
        self.decide(function, "context", verdict)
    }

    pub fn after_close(&self, function: &dyn Named, token: CloseToken, answer: i32) {
        let closed = self.tracker.finish_close(token, answer == 0, self.mark(), &self.world);
        self.tell_lost(Some(function), &closed.lost);
        if self.options.leaks != Leaks::Off {
            self.tell(function, None, &closed.left);
        }
    }

    /// Before a call that makes something in `context`, which it dereferences.
    pub(super) fn check_context(&self, function: &dyn Named, argument: &'static str, context: usize) -> Option<i32> {
        if let Some(errno) = self.refuse_null(function, argument, context) {
            return Some(errno);
        }
        self.forget_if_reborn(context);
        self.adopt(context as *mut IbvContext);
        None
    }

    /// Takes in a context that was made where it was not seen: through another copy of the library, or past the guard.
    /// What was done in it before is not known, and what is done may not be seen.
    pub(super) fn adopt(&self, context: *mut IbvContext) {
        static ADOPTING: Mutex<()> = Mutex::new(());
        let address = context.addr();
        if self.tracker.context(address).is_some() || !copies::made(context) || !self.looks_open(address) {
            return;
        }
        // Another thread may be at it; a forked child may find it locked for good.
        let Some(_one_at_a_time) = ADOPTING.try_lock() else { return };
        if self.tracker.context(address).is_none() {
            self.take_in(context, ContextOrigin::Adopted);
        }
    }

    /// Whether an adopted context, which may have been closed unseen, still is the one it was.
    pub(super) fn is_same_context(&self, token: &BirthToken) -> bool {
        let id = self.tracker.file(token.file).and_then(|file| file.id);
        peek::cmd_fd(token.address) == Some(token.cmd_fd) && id.is_none_or(|id| identity::is_of(token.cmd_fd, &id))
    }

    fn take_in(&self, context: *mut IbvContext, origin: ContextOrigin) -> c_int {
        // SAFETY: a context that the provider has made; the device pointer and cmd_fd are its public fields.
        let (device, cmd_fd) = unsafe { ((*context).device, (*context).cmd_fd) };
        let device = device_name(context, device);
        let file = self.device_file(cmd_fd, &device, origin);
        let opened = OpenedContext { address: context.addr(), device, cmd_fd, origin };
        self.tracker.opened(opened, file, self.mark());
        cmd_fd
    }

    /// A context remembered as closed whose address holds an open one again, made where we did not see it.
    fn forget_if_reborn(&self, context: usize) {
        if self.tracker.is_open_context(context) || self.tracker.context(context).is_none() {
            return;
        }
        if self.looks_open(context) {
            self.tracker.forget_closed_context(context);
        }
    }

    fn looks_open(&self, context: usize) -> bool {
        peek::cmd_fd(context).is_some_and(|fd| {
            fd >= 0 && crate::world::is_char_device(fd) && !self.tracker.live().iter().any(|live| live.has_cmd_fd(fd))
        })
    }

    /// Says once that a device was removed.
    pub(super) fn note_device_gone(&self, function: &dyn Named, device: &str) {
        let fault = Fault::forwarded(Rule::DeviceGone, Severity::Note);
        let message =
            format!("{device} was removed: calls on it fail with EIO, and nothing more is said of its objects");
        self.judge(function, "", Fault { errno: errno::EIO, ..fault }, message);
    }
}

/// The name of a context's device, as `mlx5_0`.
fn device_name(context: *mut IbvContext, device: *mut IbvDevice) -> Arc<str> {
    type F = unsafe extern "C-unwind" fn(*mut IbvDevice) -> CName;
    static REAL: Real<F> = Real::verbs(c"ibv_get_device_name", c"IBVERBS_1.1");
    let real = REAL.get(context.into(), Sight::Known).filter(|_| !device.is_null());
    let Some(real) = real else { return Arc::from("?") };
    // SAFETY: the device of an open context; the real function answers a NUL-terminated string inside it.
    let name = unsafe { real(device) };
    if name.is_null() {
        return Arc::from("?");
    }
    // SAFETY: as above.
    Arc::from(unsafe { CStr::from_ptr(name) }.to_string_lossy().as_ref())
}
