//! Walking the stack: by remembered rules where they reach, else with the unwinder that comes with the compiler.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use verbsguard_core::site::Site;

use super::again::{self, Start, Trail};
#[cfg(target_arch = "x86_64")]
use super::rules::{self, Base, Rule};

/// Writes the addresses of the calls, the innermost first, until the slice is full; how many there were. The innermost
/// ones that lie in `skip` are left out. `trail` gets what it went by.
#[inline(always)]
pub(super) fn walk(entry: Entry, addresses: &mut [usize], skip: Range<usize>, trail: &mut Trail) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(len) = walk_by_rules(entry.0.or_now(), addresses, &skip, trail) {
        return len;
    }
    trail.lose();
    walk_by_unwinder(addresses, skip)
}

/// Where a call of the program's entered us: our own frames below need not be walked. Good while that call lasts.
#[derive(Clone, Copy)]
pub struct Entry(#[cfg(target_arch = "x86_64")] Registers);

impl Entry {
    /// Not known.
    pub const NONE: Entry = Entry(
        #[cfg(target_arch = "x86_64")]
        Registers { address: 0, stack_pointer: 0, frame_pointer: 0, saved_at: 0 },
    );

    /// The stack that was taken here before, if it still is the same.
    #[inline]
    pub(super) fn known(&self) -> Option<Site> {
        #[cfg(target_arch = "x86_64")]
        return again::find(&self.0.start());
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Remembers the stack that was taken here.
    pub(super) fn keep(&self, trail: &Trail, site: Site) {
        #[cfg(target_arch = "x86_64")]
        if self.0.address != 0 {
            again::keep(&self.0.start(), trail, site);
        }
    }

    /// The function that this is compiled into.
    #[inline(always)]
    pub fn now() -> Entry {
        Entry(
            #[cfg(target_arch = "x86_64")]
            Registers::now(),
        )
    }
}

/// What the next frame is found with.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Registers {
    /// The code that the frame is in; for a return address one byte less, which lies in the call.
    address: usize,
    stack_pointer: usize,
    frame_pointer: usize,
    /// Where on the stack the frame pointer was found; 0: it was in the register.
    saved_at: usize,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    #[inline(always)]
    fn now() -> Registers {
        let (address, stack_pointer, frame_pointer);
        // SAFETY: reads three registers and changes nothing.
        unsafe {
            std::arch::asm!(
                "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) address, out(reg) stack_pointer, out(reg) frame_pointer,
                options(nomem, nostack, preserves_flags)
            );
        }
        Registers { address, stack_pointer, frame_pointer, saved_at: 0 }
    }

    /// A walk from here.
    #[inline(always)]
    fn start(&self) -> Start {
        let Registers { address, stack_pointer, frame_pointer, .. } = *self;
        Start { address, stack_pointer, frame_pointer }
    }

    /// These, or the present ones where these are none.
    #[inline(always)]
    fn or_now(self) -> Registers {
        if self.address == 0 { Registers::now() } else { self }
    }

    /// The caller's. None where that would lead out of what is in use of `stack`.
    #[inline]
    fn caller(
        self,
        (base, cfa, saved): (Base, usize, usize),
        stack: &Range<usize>,
        trail: &mut Trail,
    ) -> Option<Registers> {
        let base = match base {
            Base::StackPointer => self.stack_pointer,
            Base::FramePointer => {
                match self.saved_at {
                    0 => trail.go_by_register(),
                    at => trail.read(at, self.frame_pointer),
                }
                self.frame_pointer
            }
        };
        let cfa = base.checked_add(cfa)?;
        // Strictly upwards, so that no damaged stack can make a ring.
        let fits = self.stack_pointer < cfa && cfa <= stack.end && cfa % 8 == 0 && self.stack_pointer <= cfa - saved;
        if !fits {
            return None;
        }
        // SAFETY: between this thread's stack pointer and the end of its stack, and aligned.
        let word = |below: usize| unsafe { std::ptr::read_volatile((cfa - below) as *const usize) };
        let (frame_pointer, saved_at) =
            if saved == 0 { (self.frame_pointer, self.saved_at) } else { (word(saved), cfa - saved) };
        let back = word(8);
        trail.read(cfa - 8, back);
        Some(Registers { address: back.wrapping_sub(1), stack_pointer: cfa, frame_pointer, saved_at })
    }
}

/// None where a frame is not one of the two usual kinds, or this thread is not on its own stack.
#[cfg(target_arch = "x86_64")]
fn walk_by_rules(start: Registers, addresses: &mut [usize], skip: &Range<usize>, trail: &mut Trail) -> Option<usize> {
    let stack = crate::own_stack::bounds();
    if !stack.contains(&start.stack_pointer) {
        return None;
    }
    let (mut frame, mut len) = (start, 0);
    loop {
        if len > 0 || !skip.contains(&frame.address) {
            *addresses.get_mut(len)? = frame.address;
            len += 1;
            if len == addresses.len() {
                return Some(len);
            }
        }
        frame = match rules::at(frame.address) {
            Rule::Caller { base, cfa, saved } => frame.caller((base, cfa, saved), &stack, trail)?,
            Rule::Outermost => return Some(len),
            Rule::Other => return None,
        };
    }
}

/// `_URC_NO_REASON`: go on.
const GO_ON: c_int = 0;

/// `_URC_END_OF_STACK`; any other value ends the walk.
const END: c_int = 5;

#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

type Step = extern "C" fn(*mut Context, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(step: Step, data: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut Context, before_instruction: *mut c_int) -> usize;
}

struct Walk<'a> {
    addresses: &'a mut [usize],
    len: usize,
    skip: Range<usize>,
}

#[cold]
fn walk_by_unwinder(addresses: &mut [usize], skip: Range<usize>) -> usize {
    let mut walk = Walk { addresses, len: 0, skip };
    // SAFETY: `step` takes exactly the pointer given here, which lives until the call returns.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.len
}

extern "C" fn step(context: *mut Context, walk: *mut c_void) -> c_int {
    // SAFETY: `walk` is what was given to _Unwind_Backtrace, which is the only one to hold it now.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    let mut before_instruction = 0;
    // SAFETY: the context is the unwinder's own, valid within this call.
    let address = unsafe { _Unwind_GetIPInfo(context, &raw mut before_instruction) };
    // A return address belongs to what comes after the call; one byte less lies in the call.
    let address = address.wrapping_sub(usize::from(before_instruction == 0));
    if address == 0 || address == usize::MAX {
        return END;
    }
    if walk.len == 0 && walk.skip.contains(&address) {
        return GO_ON;
    }
    let Some(slot) = walk.addresses.get_mut(walk.len) else { return END };
    *slot = address;
    walk.len += 1;
    if walk.len < walk.addresses.len() { GO_ON } else { END }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    // A frame that only its frame pointer leads out of: how far the stack pointer moves is the caller's to say.
    std::arch::global_asm!(
        ".globl verbsguard_test_frame",
        "verbsguard_test_frame:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, rsi",
        "call rdi",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    );

    unsafe extern "C" {
        fn verbsguard_test_frame(inside: extern "C" fn(), size: usize);
    }

    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
        static WALKS: RefCell<[Vec<usize>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }

    extern "C" fn descend() {
        let depth = DEPTH.get();
        if depth > 0 {
            DEPTH.set(depth - 1);
            // SAFETY: keeps what a function must keep, and the stack aligned.
            unsafe { verbsguard_test_frame(descend, 48 * depth) };
        } else {
            WALKS.set(both());
        }
    }

    /// Both walks from one place, without the innermost frame, where they differ.
    fn both() -> [Vec<usize>; 2] {
        let (mut one, mut other) = ([0; 64], [0; 64]);
        let by_rules =
            walk_by_rules(Registers::now(), &mut one, &(0..0), &mut Trail::new()).expect("compiled code alone");
        let by_unwinder = walk_by_unwinder(&mut other, 0..0);
        // The unwinder's own walk begins one frame deeper.
        let start = other.iter().position(|address| *address == one[1]).expect("a common frame");
        [one[1..by_rules].to_vec(), other[start..by_unwinder].to_vec()]
    }

    fn walks(depth: usize) -> [Vec<usize>; 2] {
        DEPTH.set(depth);
        descend();
        WALKS.take()
    }

    #[test]
    fn rules_lead_where_the_unwinder_goes() {
        for depth in [0, 1, 9] {
            let [by_rules, by_unwinder] = std::thread::spawn(move || walks(depth)).join().expect("a thread");
            assert_eq!(by_rules, by_unwinder, "depth {depth}");
            assert!(by_rules.len() > 2 * depth);
        }
    }

    #[test]
    fn a_stack_that_leads_nowhere_is_left_alone() {
        let mut addresses = [0; 16];
        let start = Registers::now();
        let elsewhere = Registers { stack_pointer: 0x1000, ..start };
        assert_eq!(walk_by_rules(elsewhere, &mut addresses, &(0..0), &mut Trail::new()), None);
        let stack = crate::own_stack::bounds();
        for frame_pointer in [
            0,
            8,
            start.stack_pointer - 64,
            start.stack_pointer - 16,
            stack.end,
            usize::MAX - 7,
            start.stack_pointer + 1,
        ] {
            let damaged = Registers { frame_pointer, ..start };
            for saved in [0, 16] {
                let caller = damaged.caller((Base::FramePointer, 16, saved), &stack, &mut Trail::new());
                assert!(caller.is_none(), "{frame_pointer:#x}, {saved}");
            }
        }
    }
}
