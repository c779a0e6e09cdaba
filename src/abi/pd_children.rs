//! What hangs on a PD besides memory regions: QPs, SRQs, WQs, AHs, mkeys, DEKs, buffers; and the way to DEVX objects.

use std::ffi::{c_int, c_void};

use super::types::{
    IbvAh, IbvAhAttr, IbvBuf, IbvContext, IbvGrh, IbvPd, IbvQp, IbvQpInitAttr, IbvQpInitAttrEx, IbvSrq, IbvSrqInitAttr,
    IbvWc, IbvWq, IbvWqInitAttr, Mlx5dvDek, Mlx5dvDekInitAttr, Mlx5dvMkey, Mlx5dvMkeyInitAttr, Mlx5dvObj,
    Mlx5dvQpInitAttr, Mlx5dvWqInitAttr,
};
use crate::call::run;
use crate::copies::Owner;
use crate::making::{Attributes, ends, on_pd, on_pd_of};
use crate::real::Real;

/// `ibv_create_qp(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_qp(pd: *mut IbvPd, qp_init_attr: *mut IbvQpInitAttr) -> *mut IbvQp {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvQpInitAttr) -> *mut IbvQp;
    static REAL: Real<F> = Real::verbs(c"ibv_create_qp", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, qp_init_attr) })
}

/// `ibv_create_qp(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_destroy_qp(qp: *mut IbvQp) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvQp) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_destroy_qp", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "qp", qp, |real| unsafe { real(qp) })
}

/// `mlx5dv_create_qp(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_create_qp(
    context: *mut IbvContext,
    qp_attr: *mut IbvQpInitAttrEx,
    mlx5_qp_attr: *mut Mlx5dvQpInitAttr,
) -> *mut IbvQp {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvQpInitAttrEx, *mut Mlx5dvQpInitAttr) -> *mut IbvQp;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_create_qp", c"MLX5_1.3");
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(&REAL, context, Attributes::qp("qp_attr->pd", qp_attr), |real| unsafe {
        real(context, qp_attr, mlx5_qp_attr)
    })
}

/// `ibv_create_srq(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_srq(pd: *mut IbvPd, srq_init_attr: *mut IbvSrqInitAttr) -> *mut IbvSrq {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvSrqInitAttr) -> *mut IbvSrq;
    static REAL: Real<F> = Real::verbs(c"ibv_create_srq", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, srq_init_attr) })
}

/// `ibv_create_srq(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_destroy_srq(srq: *mut IbvSrq) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvSrq) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_destroy_srq", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "srq", srq, |real| unsafe { real(srq) })
}

/// `mlx5dv_create_wq(3)`; ended through the context.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_create_wq(
    context: *mut IbvContext,
    wq_init_attr: *mut IbvWqInitAttr,
    mlx5_wq_attr: *mut Mlx5dvWqInitAttr,
) -> *mut IbvWq {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvWqInitAttr, *mut Mlx5dvWqInitAttr) -> *mut IbvWq;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_create_wq", c"MLX5_1.3");
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(&REAL, context, Attributes::wq("wq_init_attr->pd", wq_init_attr), |real| unsafe {
        real(context, wq_init_attr, mlx5_wq_attr)
    })
}

/// `ibv_create_ah(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_ah(pd: *mut IbvPd, attr: *mut IbvAhAttr) -> *mut IbvAh {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvAhAttr) -> *mut IbvAh;
    static REAL: Real<F> = Real::verbs(c"ibv_create_ah", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, attr) })
}

/// `ibv_create_ah_from_wc(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_ah_from_wc(
    pd: *mut IbvPd,
    wc: *mut IbvWc,
    grh: *mut IbvGrh,
    port_num: u8,
) -> *mut IbvAh {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, *mut IbvWc, *mut IbvGrh, u8) -> *mut IbvAh;
    static REAL: Real<F> = Real::verbs(c"ibv_create_ah_from_wc", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    on_pd(&REAL, pd, |real| unsafe { real(pd, wc, grh, port_num) })
}

/// `ibv_create_ah(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_destroy_ah(ah: *mut IbvAh) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvAh) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_destroy_ah", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "ah", ah, |real| unsafe { real(ah) })
}

/// `mlx5dv_create_mkey(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_create_mkey(mkey_init_attr: *mut Mlx5dvMkeyInitAttr) -> *mut Mlx5dvMkey {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvMkeyInitAttr) -> *mut Mlx5dvMkey;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_create_mkey", c"MLX5_1.10");
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(&REAL, std::ptr::null_mut(), Attributes::mkey("mkey_init_attr->pd", mkey_init_attr), |real| unsafe {
        real(mkey_init_attr)
    })
}

/// `mlx5dv_create_mkey(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_destroy_mkey(mkey: *mut Mlx5dvMkey) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvMkey) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_destroy_mkey", c"MLX5_1.10");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "mkey", mkey, |real| unsafe { real(mkey) })
}

/// `mlx5dv_dek_create(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_dek_create(
    context: *mut IbvContext,
    init_attr: *mut Mlx5dvDekInitAttr,
) -> *mut Mlx5dvDek {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut Mlx5dvDekInitAttr) -> *mut Mlx5dvDek;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_dek_create", c"MLX5_1.21");
    // SAFETY: the caller's own arguments, handed on.
    on_pd_of(&REAL, context, Attributes::dek("init_attr->pd", init_attr), |real| unsafe { real(context, init_attr) })
}

/// `mlx5dv_dek_create(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_dek_destroy(dek: *mut Mlx5dvDek) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDek) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_dek_destroy", c"MLX5_1.21");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "dek", dek, |real| unsafe { real(dek) })
}

/// `ibv_alloc_buf(3)`: what is to be freed comes out through `buf`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_alloc_buf(pd: *mut IbvPd, size: usize, buf: *mut *mut IbvBuf) -> *mut c_void {
    type F = unsafe extern "C-unwind" fn(*mut IbvPd, usize, *mut *mut IbvBuf) -> *mut c_void;
    static REAL: Real<F> = Real::verbs(c"ibv_alloc_buf", c"IBVERBS_1.17");
    run(
        &REAL,
        pd,
        |guard| guard.before_child(&REAL, "pd", pd),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(pd, size, buf) },
        |guard, token, addr| {
            if !addr.is_null() {
                // SAFETY: the real function has just written it.
                guard.after_child(token, unsafe { *buf });
            }
        },
    )
}

/// `ibv_alloc_buf(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_free_buf(buf: *mut IbvBuf) {
    type F = unsafe extern "C-unwind" fn(*mut IbvBuf);
    static REAL: Real<F> = Real::verbs(c"ibv_free_buf", c"IBVERBS_1.17");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "buf", buf, |real| unsafe { real(buf) })
}

/// Where the first object stands that the call reads: a pair of pointers for each type, in the order of its bits.
fn object_in(obj: *mut Mlx5dvObj, obj_type: u64) -> Owner {
    let pair = usize::try_from(obj_type.trailing_zeros()).unwrap_or(0) % (size_of::<Mlx5dvObj>() / PAIR);
    Owner::Named(obj.addr().wrapping_add(pair * PAIR))
}

/// Bytes of an in and an out pointer.
const PAIR: usize = 2 * size_of::<usize>();

/// `mlx5dv_init_obj(3)`: tells the program a PD's number, with which DEVX commands make objects on it unseen.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_init_obj(obj: *mut Mlx5dvObj, obj_type: u64) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvObj, u64) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_init_obj", c"MLX5_1.2");
    run(
        &REAL,
        object_in(obj, obj_type),
        |guard| guard.before_init_obj(&REAL, obj, obj_type),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(obj, obj_type) },
        |guard, token, answer| guard.after_init_obj(token, *answer),
    )
}
