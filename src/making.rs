//! Calls that make or end a child of a PD or of a context: what they have in common.

use std::ffi::c_int;
use std::mem::offset_of;

use verbsguard_core::track::ChildToken;

use crate::abi::types::{
    IbvContext, IbvParentDomainInitAttr, IbvPd, IbvQpInitAttrEx, IbvSrqInitAttrEx, IbvWqInitAttr, Made,
    Mlx5dvDekInitAttr, Mlx5dvMkeyInitAttr,
};
use crate::call::{Answer, Callee, Decision, run};
use crate::copies::Owner;
use crate::guard::Guard;
use crate::peek;

/// Makes a child of `pd`.
#[inline(always)]
pub fn on_pd<C: Callee, T: Made>(callee: C, pd: *mut IbvPd, forward: impl FnOnce(C::Function) -> *mut T) -> *mut T {
    let name = callee.named();
    makes(callee, pd, |guard| guard.before_child(name, "pd", pd), forward)
}

/// Makes a child of the PD that attributes name, or of `context` where they name none.
#[inline(always)]
pub fn on_pd_of<C: Callee, T: Made>(
    callee: C,
    context: *mut IbvContext,
    attributes: Attributes,
    forward: impl FnOnce(C::Function) -> *mut T,
) -> *mut T {
    let name = callee.named();
    let owner = if context.is_null() { attributes.owner() } else { context.into() };
    makes(callee, owner, |guard| guard.before_child_by(name, context, attributes), forward)
}

/// Makes something in `context`, which the real function reads.
#[inline(always)]
pub fn in_context<C: Callee, T: Made>(
    callee: C,
    context: *mut IbvContext,
    forward: impl FnOnce(C::Function) -> *mut T,
) -> *mut T {
    let name = callee.named();
    makes(callee, context, |guard| guard.before_child_in(name, context), forward)
}

/// The same where the real function only keeps the address of `context`: nothing is said of that.
#[inline(always)]
pub fn copied_in<C: Callee, T: Made>(
    callee: C,
    context: *mut IbvContext,
    forward: impl FnOnce(C::Function) -> *mut T,
) -> *mut T {
    makes(callee, context, |guard| guard.before_copy_in(context), forward)
}

#[inline(always)]
fn makes<C: Callee, T: Made>(
    callee: C,
    owner: impl Into<Owner>,
    before: impl FnOnce(&'static Guard) -> Decision<ChildToken>,
    forward: impl FnOnce(C::Function) -> *mut T,
) -> *mut T {
    run(callee, owner, before, forward, |guard, token, made| guard.after_child(token, *made))
}

/// Ends a child, which the real function reads.
#[inline(always)]
pub fn ends<C: Callee, T: Made, R: Ended>(
    callee: C,
    argument: &'static str,
    child: *mut T,
    forward: impl FnOnce(C::Function) -> R,
) -> R {
    let name = callee.named();
    let before = |guard: &'static Guard| guard.before_child_end(name, argument, child.addr());
    run(callee, child, before, forward, |guard, token, answer| guard.after_child_end(token, answer.error()))
}

/// The same where the real function only frees: NULL is no mistake.
#[inline(always)]
pub fn freed<C: Callee, T: Made, R: Ended>(
    callee: C,
    argument: &'static str,
    child: *mut T,
    forward: impl FnOnce(C::Function) -> R,
) -> R {
    let name = callee.named();
    let before = |guard: &'static Guard| match child.is_null() {
        true => Decision::Forward(None),
        false => guard.before_child_end(name, argument, child.addr()),
    };
    run(callee, child, before, forward, |guard, token, answer| guard.after_child_end(token, answer.error()))
}

/// How a call that ends something says that it failed.
pub trait Ended: Answer {
    /// 0, or an errno value.
    fn error(&self) -> i32;
}

impl Ended for c_int {
    fn error(&self) -> i32 {
        *self
    }
}

impl Ended for () {
    fn error(&self) -> i32 {
        0
    }
}

/// The attributes of a creating call, which name a PD.
#[derive(Clone, Copy)]
pub struct Attributes {
    /// What reports call the PD in them: "attr->pd".
    pub argument: &'static str,
    address: usize,
    pd: usize,
    /// Where the mask stands that says whether there is a PD, and its bit for that.
    mask: Option<(usize, u32)>,
}

/// `IBV_QP_INIT_ATTR_PD`, `IBV_SRQ_INIT_ATTR_PD` (verbs.h).
const QP_HAS_PD: u32 = 1;
const SRQ_HAS_PD: u32 = 1 << 1;

impl Attributes {
    pub fn qp(argument: &'static str, attributes: *const IbvQpInitAttrEx) -> Self {
        let (pd, mask) = (offset_of!(IbvQpInitAttrEx, pd), offset_of!(IbvQpInitAttrEx, comp_mask));
        Attributes { argument, address: attributes.addr(), pd, mask: Some((mask, QP_HAS_PD)) }
    }

    pub fn srq(argument: &'static str, attributes: *const IbvSrqInitAttrEx) -> Self {
        let (pd, mask) = (offset_of!(IbvSrqInitAttrEx, pd), offset_of!(IbvSrqInitAttrEx, comp_mask));
        Attributes { argument, address: attributes.addr(), pd, mask: Some((mask, SRQ_HAS_PD)) }
    }

    pub fn wq(argument: &'static str, attributes: *const IbvWqInitAttr) -> Self {
        Attributes { argument, address: attributes.addr(), pd: offset_of!(IbvWqInitAttr, pd), mask: None }
    }

    pub fn parent_domain(argument: &'static str, attributes: *const IbvParentDomainInitAttr) -> Self {
        Attributes { argument, address: attributes.addr(), pd: offset_of!(IbvParentDomainInitAttr, pd), mask: None }
    }

    pub fn mkey(argument: &'static str, attributes: *const Mlx5dvMkeyInitAttr) -> Self {
        Attributes { argument, address: attributes.addr(), pd: offset_of!(Mlx5dvMkeyInitAttr, pd), mask: None }
    }

    pub fn dek(argument: &'static str, attributes: *const Mlx5dvDekInitAttr) -> Self {
        Attributes { argument, address: attributes.addr(), pd: offset_of!(Mlx5dvDekInitAttr, pd), mask: None }
    }

    /// Where the address of the PD stands.
    fn owner(&self) -> Owner {
        Owner::Named(self.address.wrapping_add(self.pd))
    }

    /// The PD, if they can be read and name one.
    pub fn pd(&self) -> Option<*mut IbvPd> {
        if let Some((mask, bit)) = self.mask
            && peek::word(self.address.checked_add(mask)?)? & bit == 0
        {
            return None;
        }
        peek::pointer(self.address.checked_add(self.pd)?).filter(|pd: &*mut IbvPd| !pd.is_null())
    }
}
