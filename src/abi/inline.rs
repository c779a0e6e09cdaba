//! Inline verbs: what stands in a context in place of the provider's own functions ([`crate::pointers`]). Each is named as
//! its pointer.

use std::ffi::{c_int, c_uint};

use super::types::{
    IbvAllocDmAttr, IbvContext, IbvCounters, IbvCountersInitAttr, IbvCqEx, IbvCqInitAttrEx, IbvDm, IbvFlow,
    IbvFlowAttr, IbvMr, IbvMw, IbvParentDomainInitAttr, IbvPd, IbvQp, IbvQpInitAttrEx, IbvQpOpenAttr, IbvRwqIndTable,
    IbvRwqIndTableInitAttr, IbvSrq, IbvSrqInitAttrEx, IbvTd, IbvTdInitAttr, IbvWq, IbvWqInitAttr, IbvXrcd,
    IbvXrcdInitAttr, NullMr,
};
use crate::making::{Attributes, ends, in_context, on_pd, on_pd_of};
use crate::pointers::Pointer;
use crate::real::Real;

/// `ibv_alloc_mw(3)`.
pub unsafe extern "C-unwind" fn alloc_mw(pd: *mut IbvPd, mw_type: c_int) -> *mut IbvMw {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, c_int) -> *mut IbvMw;
    static VERB: Real<F> = Real::inline(c"ibv_alloc_mw");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*pd).context };
    let callee = VERB.through(context, Pointer::AllocMw);
    // SAFETY: the caller's own arguments, handed on.
    on_pd(callee, pd, |real| unsafe { real(pd, mw_type) })
}

/// `ibv_alloc_mw(3)`.
pub unsafe extern "C-unwind" fn dealloc_mw(mw: *mut IbvMw) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvMw) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_dealloc_mw");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*mw).context };
    let callee = VERB.through(context, Pointer::DeallocMw);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "mw", mw, |real| unsafe { real(mw) })
}

/// `ibv_alloc_null_mr(3)`.
pub unsafe extern "C-unwind" fn alloc_null_mr(pd: *mut IbvPd) -> *mut NullMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd) -> *mut NullMr;
    static VERB: Real<F> = Real::inline(c"ibv_alloc_null_mr");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*pd).context };
    let callee = VERB.through(context, Pointer::AllocNullMr);
    // SAFETY: the caller's own arguments, handed on.
    on_pd(callee, pd, |real| unsafe { real(pd) })
}

/// `ibv_alloc_dm(3)`.
pub unsafe extern "C-unwind" fn reg_dm_mr(
    pd: *mut IbvPd,
    dm: *mut IbvDm,
    offset: u64,
    length: usize,
    access: c_uint,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvDm, u64, usize, c_uint) -> *mut IbvMr;
    static VERB: Real<F> = Real::inline(c"ibv_reg_dm_mr");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*pd).context };
    let callee = VERB.through(context, Pointer::RegDmMr);
    // SAFETY: the caller's own arguments, handed on.
    on_pd(callee, pd, |real| unsafe { real(pd, dm, offset, length, access) })
}

/// `ibv_create_qp_ex(3)`.
pub unsafe extern "C-unwind" fn create_qp_ex(context: *mut IbvContext, attr: *mut IbvQpInitAttrEx) -> *mut IbvQp {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvQpInitAttrEx) -> *mut IbvQp;
    static VERB: Real<F> = Real::inline(c"ibv_create_qp_ex");
    let callee = VERB.through(context, Pointer::CreateQpEx);
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(callee, context, Attributes::qp("qp_init_attr_ex->pd", attr), |real| unsafe { real(context, attr) })
}

/// `ibv_open_qp(3)`: of an XRC domain, which has no PD.
pub unsafe extern "C-unwind" fn open_qp(context: *mut IbvContext, attr: *mut IbvQpOpenAttr) -> *mut IbvQp {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvQpOpenAttr) -> *mut IbvQp;
    static VERB: Real<F> = Real::inline(c"ibv_open_qp");
    let callee = VERB.through(context, Pointer::OpenQp);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_create_srq_ex(3)`.
pub unsafe extern "C-unwind" fn create_srq_ex(context: *mut IbvContext, attr: *mut IbvSrqInitAttrEx) -> *mut IbvSrq {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvSrqInitAttrEx) -> *mut IbvSrq;
    static VERB: Real<F> = Real::inline(c"ibv_create_srq_ex");
    let callee = VERB.through(context, Pointer::CreateSrqEx);
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(callee, context, Attributes::srq("srq_init_attr_ex->pd", attr), |real| unsafe { real(context, attr) })
}

/// `ibv_create_wq(3)`.
pub unsafe extern "C-unwind" fn create_wq(context: *mut IbvContext, attr: *mut IbvWqInitAttr) -> *mut IbvWq {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvWqInitAttr) -> *mut IbvWq;
    static VERB: Real<F> = Real::inline(c"ibv_create_wq");
    let callee = VERB.through(context, Pointer::CreateWq);
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(callee, context, Attributes::wq("wq_init_attr->pd", attr), |real| unsafe { real(context, attr) })
}

/// `ibv_create_wq(3)`.
pub unsafe extern "C-unwind" fn destroy_wq(wq: *mut IbvWq) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvWq) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_destroy_wq");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*wq).context };
    let callee = VERB.through(context, Pointer::DestroyWq);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "wq", wq, |real| unsafe { real(wq) })
}

/// `ibv_alloc_parent_domain(3)`; ended by `ibv_dealloc_pd`.
pub unsafe extern "C-unwind" fn alloc_parent_domain(
    context: *mut IbvContext,
    attr: *mut IbvParentDomainInitAttr,
) -> *mut IbvPd {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvParentDomainInitAttr) -> *mut IbvPd;
    static VERB: Real<F> = Real::inline(c"ibv_alloc_parent_domain");
    let callee = VERB.through(context, Pointer::AllocParentDomain);
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(callee, context, Attributes::parent_domain("attr->pd", attr), |real| unsafe { real(context, attr) })
}

/// `ibv_create_cq_ex(3)`; ended by `ibv_destroy_cq`.
pub unsafe extern "C-unwind" fn create_cq_ex(context: *mut IbvContext, attr: *mut IbvCqInitAttrEx) -> *mut IbvCqEx {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvCqInitAttrEx) -> *mut IbvCqEx;
    static VERB: Real<F> = Real::inline(c"ibv_create_cq_ex");
    let callee = VERB.through(context, Pointer::CreateCqEx);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_alloc_dm(3)`.
pub unsafe extern "C-unwind" fn alloc_dm(context: *mut IbvContext, attr: *mut IbvAllocDmAttr) -> *mut IbvDm {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvAllocDmAttr) -> *mut IbvDm;
    static VERB: Real<F> = Real::inline(c"ibv_alloc_dm");
    let callee = VERB.through(context, Pointer::AllocDm);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_alloc_dm(3)`.
pub unsafe extern "C-unwind" fn free_dm(dm: *mut IbvDm) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvDm) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_free_dm");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*dm).context };
    let callee = VERB.through(context, Pointer::FreeDm);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "dm", dm, |real| unsafe { real(dm) })
}

/// `ibv_create_counters(3)`.
pub unsafe extern "C-unwind" fn create_counters(
    context: *mut IbvContext,
    attr: *mut IbvCountersInitAttr,
) -> *mut IbvCounters {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvCountersInitAttr) -> *mut IbvCounters;
    static VERB: Real<F> = Real::inline(c"ibv_create_counters");
    let callee = VERB.through(context, Pointer::CreateCounters);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_create_counters(3)`.
pub unsafe extern "C-unwind" fn destroy_counters(counters: *mut IbvCounters) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvCounters) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_destroy_counters");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*counters).context };
    let callee = VERB.through(context, Pointer::DestroyCounters);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "counters", counters, |real| unsafe { real(counters) })
}

/// `ibv_create_flow(3)`.
pub unsafe extern "C-unwind" fn ibv_create_flow(qp: *mut IbvQp, flow: *mut IbvFlowAttr) -> *mut IbvFlow {
    type F = unsafe extern "C-unwind" fn(*mut IbvQp, *mut IbvFlowAttr) -> *mut IbvFlow;
    static VERB: Real<F> = Real::inline(c"ibv_create_flow");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*qp).context };
    let callee = VERB.through(context, Pointer::CreateFlow);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(qp, flow) })
}

/// `ibv_create_flow(3)`.
pub unsafe extern "C-unwind" fn ibv_destroy_flow(flow_id: *mut IbvFlow) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvFlow) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_destroy_flow");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*flow_id).context };
    let callee = VERB.through(context, Pointer::DestroyFlow);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "flow_id", flow_id, |real| unsafe { real(flow_id) })
}

/// `ibv_alloc_td(3)`.
pub unsafe extern "C-unwind" fn alloc_td(context: *mut IbvContext, attr: *mut IbvTdInitAttr) -> *mut IbvTd {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvTdInitAttr) -> *mut IbvTd;
    static VERB: Real<F> = Real::inline(c"ibv_alloc_td");
    let callee = VERB.through(context, Pointer::AllocTd);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_alloc_td(3)`.
pub unsafe extern "C-unwind" fn dealloc_td(td: *mut IbvTd) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvTd) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_dealloc_td");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*td).context };
    let callee = VERB.through(context, Pointer::DeallocTd);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "td", td, |real| unsafe { real(td) })
}

/// `ibv_open_xrcd(3)`.
pub unsafe extern "C-unwind" fn open_xrcd(context: *mut IbvContext, attr: *mut IbvXrcdInitAttr) -> *mut IbvXrcd {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvXrcdInitAttr) -> *mut IbvXrcd;
    static VERB: Real<F> = Real::inline(c"ibv_open_xrcd");
    let callee = VERB.through(context, Pointer::OpenXrcd);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_open_xrcd(3)`.
pub unsafe extern "C-unwind" fn close_xrcd(xrcd: *mut IbvXrcd) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvXrcd) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_close_xrcd");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*xrcd).context };
    let callee = VERB.through(context, Pointer::CloseXrcd);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "xrcd", xrcd, |real| unsafe { real(xrcd) })
}

/// `ibv_create_rwq_ind_table(3)`.
pub unsafe extern "C-unwind" fn create_rwq_ind_table(
    context: *mut IbvContext,
    attr: *mut IbvRwqIndTableInitAttr,
) -> *mut IbvRwqIndTable {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvRwqIndTableInitAttr) -> *mut IbvRwqIndTable;
    static VERB: Real<F> = Real::inline(c"ibv_create_rwq_ind_table");
    let callee = VERB.through(context, Pointer::CreateRwqIndTable);
    // SAFETY: the caller's own arguments, handed on.
    in_context(callee, context, |real| unsafe { real(context, attr) })
}

/// `ibv_create_rwq_ind_table(3)`.
pub unsafe extern "C-unwind" fn destroy_rwq_ind_table(rwq_ind_table: *mut IbvRwqIndTable) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvRwqIndTable) -> c_int;
    static VERB: Real<F> = Real::inline(c"ibv_destroy_rwq_ind_table");
    // SAFETY: the inline verb has just read the same field.
    let context = unsafe { (*rwq_ind_table).context };
    let callee = VERB.through(context, Pointer::DestroyRwqIndTable);
    // SAFETY: the caller's own arguments, handed on.
    ends(callee, "rwq_ind_table", rwq_ind_table, |real| unsafe { real(rwq_ind_table) })
}
