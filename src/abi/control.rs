//! The control API: what a program may ask of the guard itself. Its header is generated from this file.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use parking_lot::RwLock;
use verbsguard_core::finding::Finding;
use verbsguard_core::rules::Severity;
use verbsguard_core::track::Moment;

use crate::depth::Frame;
use crate::guard::{self, Guard};

/// How grave a finding is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerbsguardSeverity {
    /// Information.
    Note = 0,
    /// Legal, but nearly always a mistake.
    Warning = 1,
    /// Certainly wrong by the manual page, or unsafe.
    Error = 2,
}

/// What the guard has counted in this process. Counts, no units.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct VerbsguardStats {
    /// Error findings so far, repeats included.
    pub errors: u64,
    /// Warnings so far, repeats included.
    pub warnings: u64,
    /// Notes so far, repeats included.
    pub notes: u64,
    /// Contexts open now.
    pub contexts: u64,
    /// References to protection domains that are live now.
    pub pds: u64,
    /// References to DEVX UMEMs that are live now.
    pub umems: u64,
    /// Memory regions that are live now.
    pub mrs: u64,
    /// Parent domains that are live now.
    pub parent_domains: u64,
    /// Interposed calls so far.
    pub calls: u64,
    /// What is live of all that hangs on PDs or lives in contexts: MRs and parent domains, and QPs, CQs, AHs and the like.
    pub children: u64,
}

/// Told of each finding: rule id, severity, the sentence and the caller's own pointer. The strings are valid during the
/// call only. Verbs that it calls are forwarded without a check.
pub type VerbsguardFindingFn = Option<
    unsafe extern "C" fn(rule: *const c_char, severity: VerbsguardSeverity, message: *const c_char, user: *mut c_void),
>;

struct Callback {
    function: VerbsguardFindingFn,
    user: *mut c_void,
}
// SAFETY: the pointer is only handed back to the program that gave it, which was told that any thread may do so.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

static CALLBACK: RwLock<Callback> = RwLock::new(Callback { function: None, user: std::ptr::null_mut() });

/// The version of the library, as "0.1.0". Never NULL; valid for good. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn verbsguard_version() -> *const c_char {
    static VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// Reports what is lost now: kernel objects that nobody can release any more, and destroys that failed and were never
/// followed up. Answers how many objects are lost in all. May be called any number of times; each object is reported
/// once. Thread-safe; 0 in a program that has not used verbs.
#[unsafe(no_mangle)]
pub extern "C" fn verbsguard_check_leaks() -> u64 {
    ask(0, |guard| {
        let lost = guard.tracker.lost_on_demand(&guard.world);
        guard.tell_lost_at("verbsguard_check_leaks", Moment::Demand, &lost);
        guard.tracker.lost_count()
    })
}

/// Fills `stats`, of which the caller's version has `size` bytes; bytes that this version does not know become 0.
/// 0 on success; EINVAL if `stats` is NULL or `size` is 0. Thread-safe.
///
/// # Safety
/// `stats` points to `size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn verbsguard_get_stats(stats: *mut VerbsguardStats, size: usize) -> c_int {
    if stats.is_null() || size == 0 {
        return libc::EINVAL;
    }
    let now = ask(VerbsguardStats::default(), Guard::stats);
    let known = size.min(size_of::<VerbsguardStats>());
    // SAFETY: the caller gives `size` writable bytes, of which we write no more than the struct of ours has.
    unsafe {
        std::ptr::write_bytes(stats.cast::<u8>(), 0, size);
        std::ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), stats.cast::<u8>(), known);
    }
    0
}

/// Writes what is alive now to `fd` as text, one object a line. 0 on success, else the errno value of the write.
/// Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn verbsguard_dump(fd: c_int) -> c_int {
    let text = ask(String::new(), Guard::dump);
    match crate::log::write_to(fd, text.as_bytes()) {
        Ok(()) => 0,
        Err(errno) => errno,
    }
}

/// Gives a live `struct ibv_pd` or `struct mlx5dv_devx_umem` a name that reports show. 0 on success, ENOENT if it is not
/// known, EINVAL if a pointer is NULL or the name is not UTF-8. The name is copied. Thread-safe.
///
/// # Safety
/// `name` is NULL or a NUL-terminated string; `object` is not dereferenced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn verbsguard_name(object: *const c_void, name: *const c_char) -> c_int {
    if object.is_null() || name.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller gives a NUL-terminated string.
    let Ok(name) = unsafe { CStr::from_ptr(name) }.to_str() else { return libc::EINVAL };
    found(ask(false, |guard| guard.tracker.name(object.addr(), Arc::from(name))))
}

/// Never reports this live PD or UMEM as lost. 0 on success, ENOENT if it is not known. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn verbsguard_ignore(object: *const c_void) -> c_int {
    found(ask(false, |guard| guard.tracker.ignore(object.addr())))
}

/// Calls `callback` at each finding from here on, on the thread that made the call it is about; NULL ends that.
/// `user` is handed back. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn verbsguard_on_finding(callback: VerbsguardFindingFn, user: *mut c_void) {
    *CALLBACK.write() = Callback { function: callback, user };
}

/// Called at each error finding, and does nothing: a place for a breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn verbsguard_on_error() {
    std::hint::black_box(());
}

/// Hands a finding to the program's callback.
pub fn on_finding(finding: &Finding) {
    let (function, user) = {
        let callback = CALLBACK.read();
        (callback.function, callback.user)
    };
    let Some(function) = function else { return };
    let severity = match finding.severity {
        Severity::Note => VerbsguardSeverity::Note,
        Severity::Warning => VerbsguardSeverity::Warning,
        Severity::Error => VerbsguardSeverity::Error,
    };
    let rule = text(finding.rule.id());
    let message = text(&finding.message);
    // SAFETY: the program's own function, with the arguments that the header promises.
    unsafe { function(rule.as_ptr(), severity, message.as_ptr(), user) };
}

fn text(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text.replace('\0', " ")).unwrap_or_default()
}

fn found(found: bool) -> c_int {
    if found { 0 } else { libc::ENOENT }
}

/// Asks the guard, if there is one; a panic or a question from inside a call gives `otherwise`. errno stays.
fn ask<R>(otherwise: R, question: impl FnOnce(&'static Guard) -> R) -> R {
    let (frame, thread) = (Frame::new(), crate::thread::this());
    if frame.is_nested(thread) {
        return otherwise;
    }
    let errno = crate::call::errno();
    frame.enter(thread);
    thread.begin(crate::stacks::Entry::NONE);
    let answer = crate::call::own(|| guard::existing().map(question));
    frame.leave(thread);
    crate::call::set_errno(errno);
    answer.ok().flatten().unwrap_or(otherwise)
}
