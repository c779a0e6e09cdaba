//! Memory regions.

use std::ffi::{c_int, c_uint, c_void};

use super::types::{IbvBuf, IbvMr, IbvMrInitAttr, IbvPd};
use crate::call::{MinusOne, run};
use crate::making::{ends, on_pd};
use crate::real::Real;

/// `ibv_reg_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_mr(
    pd: *mut IbvPd,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut c_void, usize, c_int) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_mr", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, addr, length, access) })
}

/// `ibv_reg_mr_iova(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_mr_iova(
    pd: *mut IbvPd,
    addr: *mut c_void,
    length: usize,
    iova: u64,
    access: c_int,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut c_void, usize, u64, c_int) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_mr_iova", c"IBVERBS_1.7");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, addr, length, iova, access) })
}

/// `ibv_reg_mr_iova(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_mr_iova2(
    pd: *mut IbvPd,
    addr: *mut c_void,
    length: usize,
    iova: u64,
    access: c_uint,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut c_void, usize, u64, c_uint) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_mr_iova2", c"IBVERBS_1.8");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, addr, length, iova, access) })
}

/// `ibv_reg_dmabuf_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_dmabuf_mr(
    pd: *mut IbvPd,
    offset: u64,
    length: usize,
    iova: u64,
    fd: c_int,
    access: c_int,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, u64, usize, u64, c_int, c_int) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_dmabuf_mr", c"IBVERBS_1.12");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, offset, length, iova, fd, access) })
}

/// `ibv_reg_mr_ex(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_mr_ex(pd: *mut IbvPd, mr_init_attr: *mut IbvMrInitAttr) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvMrInitAttr) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_mr_ex", c"IBVERBS_1.15");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, mr_init_attr) })
}

/// `ibv_reg_buf_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_reg_buf_mr(
    pd: *mut IbvPd,
    buf: *mut IbvBuf,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvBuf, *mut c_void, usize, c_int) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_reg_buf_mr", c"IBVERBS_1.17");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, buf, addr, length, access) })
}

/// `mlx5dv_reg_dmabuf_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_reg_dmabuf_mr(
    pd: *mut IbvPd,
    offset: u64,
    length: usize,
    iova: u64,
    fd: c_int,
    access: c_int,
    mlx5_access: c_int,
) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, u64, usize, u64, c_int, c_int, c_int) -> *mut IbvMr;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_reg_dmabuf_mr", c"MLX5_1.25");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, offset, length, iova, fd, access, mlx5_access) })
}

/// `ibv_import_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_import_mr(pd: *mut IbvPd, mr_handle: u32) -> *mut IbvMr {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, u32) -> *mut IbvMr;
    static REAL: Real<F> = Real::verbs(c"ibv_import_mr", c"IBVERBS_1.10");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, mr_handle) })
}

/// `ibv_rereg_mr(3)`: may move the MR to another PD.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_rereg_mr(
    mr: *mut IbvMr,
    flags: c_int,
    pd: *mut IbvPd,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvMr, c_int, *mut IbvPd, *mut c_void, usize, c_int) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_rereg_mr", c"IBVERBS_1.1");
    run(
        &REAL,
        mr,
        |guard| guard.before_move(&REAL, mr.addr(), flags, pd),
        // SAFETY: the caller's own arguments, handed on.
        |real| MinusOne(unsafe { real(mr, flags, pd, addr, length, access) }),
        |guard, token, answer| guard.after_move(token, mr.addr(), answer.0),
    )
    .0
}

/// `ibv_dereg_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_dereg_mr(mr: *mut IbvMr) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvMr) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_dereg_mr", c"IBVERBS_1.1");
    // SAFETY: the caller's own argument, handed on.
    ends(&REAL, "mr", mr, |real| unsafe { real(mr) })
}

/// `ibv_unimport_mr(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_unimport_mr(mr: *mut IbvMr) {
    type F = unsafe extern "C-unwind" fn(*mut IbvMr);
    static REAL: Real<F> = Real::verbs(c"ibv_unimport_mr", c"IBVERBS_1.10");
    // SAFETY: the caller's own argument, handed on.
    ends(&REAL, "mr", mr, |real| unsafe { real(mr) })
}
