//! How to get from one frame to its caller's, as the module's unwind table says; remembered by return address.
//!
//! Nearly every frame of compiled code is left by one of two ways: the caller's frame begins a fixed way up from the
//! stack pointer, or from the frame pointer. Only those are kept here; everything else is the compiler's unwinder's.

use std::sync::atomic::{AtomicU64, Ordering};

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Pointer, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};

use super::modules;

/// What the start of the caller's frame (the CFA) is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    StackPointer,
    FramePointer,
}

/// The way out of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// The return address lies right below the CFA.
    Caller {
        base: Base,
        /// The CFA, from there.
        cfa: usize,
        /// How far below the CFA the caller's frame pointer was saved; 0: it was left alone.
        saved: usize,
    },
    /// Nobody called this one.
    Outermost,
    /// Something that only the compiler's unwinder can do.
    Other,
}

/// Remembered rules, in sets of one cache line: a power of two. An address that finds its set full pushes another out.
const SETS: usize = 1 << 10;
const WAYS: usize = 4;

/// An address mixed with its rule, and the rule: a slot that two threads write at once fits no address.
struct Slot {
    mixed: AtomicU64,
    rule: AtomicU64,
}

#[repr(align(64))]
struct Set([Slot; WAYS]);

static KNOWN: [Set; SETS] =
    [const { Set([const { Slot { mixed: AtomicU64::new(0), rule: AtomicU64::new(0) } }; WAYS]) }; SETS];

/// The way out of the frame that is at `address` (for a return address: one byte before it).
#[inline]
pub(super) fn at(address: usize) -> Rule {
    let hash = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let Set(slots) = &KNOWN[hash >> (usize::BITS - SETS.trailing_zeros())];
    for slot in slots {
        let rule = slot.rule.load(Ordering::Relaxed);
        if slot.mixed.load(Ordering::Relaxed) ^ rule == address as u64 && rule != 0 {
            return Rule::unpack(rule);
        }
    }
    let found = look_up(address).unwrap_or(Rule::Other);
    let free = slots.iter().find(|slot| slot.rule.load(Ordering::Relaxed) == 0);
    free.unwrap_or(&slots[hash % WAYS]).keep(address, found.pack());
    found
}

impl Slot {
    fn keep(&self, address: usize, rule: u64) {
        self.rule.store(rule, Ordering::Relaxed);
        self.mixed.store(address as u64 ^ rule, Ordering::Relaxed);
    }
}

/// Offsets are multiples of 8 below this.
const MOST: usize = 1 << 24;

impl Rule {
    /// Never 0. The low bits tell which, then two offsets.
    fn pack(self) -> u64 {
        match self {
            Rule::Other => 1,
            Rule::Outermost => 2,
            Rule::Caller { base, cfa, saved } => {
                let which = if base == Base::StackPointer { 3 } else { 4 };
                which | (cfa as u64) << 8 | (saved as u64) << 32
            }
        }
    }

    #[inline]
    fn unpack(rule: u64) -> Rule {
        let base = match rule & 7 {
            1 => return Rule::Other,
            2 => return Rule::Outermost,
            3 => Base::StackPointer,
            _ => Base::FramePointer,
        };
        Rule::Caller { base, cfa: (rule >> 8) as usize & (MOST - 1), saved: (rule >> 32) as usize }
    }
}

/// Reads the module's table.
#[cold]
fn look_up(address: usize) -> Option<Rule> {
    let header = modules::unwind_header(address)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.as_ptr().addr() as u64);
    let header = EhFrameHdr::new(header, NativeEndian).parse(&bases, 8).ok()?;
    let Pointer::Direct(frames) = header.eh_frame_ptr() else { return None };
    let frames = modules::rest_of_segment(usize::try_from(frames).ok()?)?;
    let bases = bases.set_eh_frame(frames.as_ptr().addr() as u64);
    let frames = EhFrame::new(frames, NativeEndian);
    let fde = header.table()?.fde_for_address(&frames, &bases, address as u64, EhFrame::cie_from_offset).ok()?;
    if fde.is_signal_trampoline() {
        return None;
    }
    let mut context = UnwindContext::new();
    let row = fde.unwind_info_for_address(&frames, &bases, &mut context, address as u64).ok()?;
    rule_of(row.cfa(), row.register(X86_64::RA)?, row.register(X86_64::RBP))
}

fn rule_of(
    cfa: &CfaRule<usize>,
    return_address: RegisterRule<usize>,
    frame_pointer: Option<RegisterRule<usize>>,
) -> Option<Rule> {
    if return_address == RegisterRule::Undefined {
        return Some(Rule::Outermost);
    }
    let CfaRule::RegisterAndOffset { register, offset } = *cfa else { return None };
    let base = match register {
        X86_64::RSP => Base::StackPointer,
        X86_64::RBP => Base::FramePointer,
        _ => return None,
    };
    let saved = match frame_pointer {
        Some(RegisterRule::Offset(offset)) => fits(-offset)?,
        None | Some(RegisterRule::SameValue) => 0,
        Some(_) => return None,
    };
    (return_address == RegisterRule::Offset(-8)).then_some(Rule::Caller { base, cfa: fits(offset)?, saved })
}

fn fits(offset: i64) -> Option<usize> {
    usize::try_from(offset).ok().filter(|offset| (8..MOST).contains(offset) && offset % 8 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_packing() {
        let callers = [Base::StackPointer, Base::FramePointer]
            .into_iter()
            .flat_map(|base| [(16, 0), (MOST - 8, MOST - 8)].map(|(cfa, saved)| Rule::Caller { base, cfa, saved }));
        for rule in callers.chain([Rule::Outermost, Rule::Other]) {
            assert_ne!(rule.pack(), 0);
            assert_eq!(Rule::unpack(rule.pack()), rule);
        }
    }

    #[test]
    fn compiled_code_has_a_rule_and_the_rest_has_none() {
        let address = a_rule_survives_packing as fn() as usize + 1;
        assert!(matches!(at(address), Rule::Caller { .. }));
        assert_eq!(at(address), at(address));
        assert_eq!(at(1), Rule::Other);
    }
}
