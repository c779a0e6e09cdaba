//! Protection domains: alloc, dealloc, import, unimport.

use std::ffi::c_int;

use verbsguard_core::ledger::Kind;
use verbsguard_core::track::{End, Origin};

use super::types::{IbvContext, IbvPd};
use crate::call::run;
use crate::real::Real;

/// `ibv_alloc_pd(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_alloc_pd(context: *mut IbvContext) -> *mut IbvPd {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext) -> *mut IbvPd;
    static REAL: Real<F> = Real::verbs(c"ibv_alloc_pd", c"IBVERBS_1.1");
    run(
        &REAL,
        context,
        |guard| guard.before_birth(&REAL, context),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(context) },
        |guard, token, pd| guard.after_pd(&REAL, token, *pd, Origin::Owned, None),
    )
}

/// `ibv_dealloc_pd(3)`; also ends parent domains.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_dealloc_pd(pd: *mut IbvPd) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_dealloc_pd", c"IBVERBS_1.1");
    run(
        &REAL,
        pd,
        |guard| guard.before_release(&REAL, "pd", pd.addr(), Kind::Pd, End::Destroy),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(pd) },
        |guard, token, answer| guard.after_release(&REAL, token, *answer),
    )
}

/// `ibv_import_pd(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_import_pd(context: *mut IbvContext, pd_handle: u32) -> *mut IbvPd {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, u32) -> *mut IbvPd;
    static REAL: Real<F> = Real::verbs(c"ibv_import_pd", c"IBVERBS_1.10");
    run(
        &REAL,
        context,
        |guard| guard.before_birth(&REAL, context),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(context, pd_handle) },
        |guard, token, pd| guard.after_pd(&REAL, token, *pd, Origin::Imported, Some(pd_handle)),
    )
}

/// `ibv_unimport_pd(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_unimport_pd(pd: *mut IbvPd) {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd);
    static REAL: Real<F> = Real::verbs(c"ibv_unimport_pd", c"IBVERBS_1.10");
    run(
        &REAL,
        pd,
        |guard| guard.before_release(&REAL, "pd", pd.addr(), Kind::Pd, End::Unimport),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(pd) },
        |guard, token, ()| guard.after_release(&REAL, token, 0),
    )
}
