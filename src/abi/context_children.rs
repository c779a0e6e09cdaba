//! What lives in a context without a PD. It is counted, so that a close can tell what it leaves behind.

use std::ffi::{c_int, c_void};

use super::types::{
    IbvAllocDmAttr, IbvCompChannel, IbvContext, IbvCq, IbvCqEx, IbvCqInitAttrEx, IbvDm, IbvDmah, IbvDmahInitAttr,
    Mlx5dvAllocDmAttr, Mlx5dvCqInitAttr, Mlx5dvDevxObj, Mlx5dvDevxUar, Mlx5dvPp, Mlx5dvVar,
};
use crate::making::{copied_in, ends, freed, in_context};
use crate::real::Real;

/// `ibv_create_cq(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_cq(
    context: *mut IbvContext,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut IbvCompChannel,
    comp_vector: c_int,
) -> *mut IbvCq {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, c_int, *mut c_void, *mut IbvCompChannel, c_int) -> *mut IbvCq;
    static REAL: Real<F> = Real::verbs(c"ibv_create_cq", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, cqe, cq_context, channel, comp_vector) })
}

/// `mlx5dv_create_cq(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_create_cq(
    context: *mut IbvContext,
    cq_attr: *mut IbvCqInitAttrEx,
    mlx5_cq_attr: *mut Mlx5dvCqInitAttr,
) -> *mut IbvCqEx {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvCqInitAttrEx, *mut Mlx5dvCqInitAttr) -> *mut IbvCqEx;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_create_cq", c"MLX5_1.1");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, cq_attr, mlx5_cq_attr) })
}

/// `ibv_create_cq(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_destroy_cq(cq: *mut IbvCq) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvCq) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_destroy_cq", c"IBVERBS_1.1");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "cq", cq, |real| unsafe { real(cq) })
}

/// `ibv_create_comp_channel(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_create_comp_channel(context: *mut IbvContext) -> *mut IbvCompChannel {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext) -> *mut IbvCompChannel;
    static REAL: Real<F> = Real::verbs(c"ibv_create_comp_channel", c"IBVERBS_1.0");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context) })
}

/// `ibv_create_comp_channel(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_destroy_comp_channel(channel: *mut IbvCompChannel) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvCompChannel) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_destroy_comp_channel", c"IBVERBS_1.0");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "channel", channel, |real| unsafe { real(channel) })
}

/// `ibv_import_dm(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_import_dm(context: *mut IbvContext, dm_handle: u32) -> *mut IbvDm {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, u32) -> *mut IbvDm;
    static REAL: Real<F> = Real::verbs(c"ibv_import_dm", c"IBVERBS_1.13");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, dm_handle) })
}

/// `ibv_import_dm(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_unimport_dm(dm: *mut IbvDm) {
    type F = unsafe extern "C-unwind" fn(*mut IbvDm);
    static REAL: Real<F> = Real::verbs(c"ibv_unimport_dm", c"IBVERBS_1.13");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "dm", dm, |real| unsafe { real(dm) })
}

/// `mlx5dv_alloc_dm(3)`; ended through the context.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_alloc_dm(
    context: *mut IbvContext,
    dm_attr: *mut IbvAllocDmAttr,
    mlx5_dm_attr: *mut Mlx5dvAllocDmAttr,
) -> *mut IbvDm {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvAllocDmAttr, *mut Mlx5dvAllocDmAttr) -> *mut IbvDm;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_alloc_dm", c"MLX5_1.10");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, dm_attr, mlx5_dm_attr) })
}

/// `ibv_alloc_dmah(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_alloc_dmah(context: *mut IbvContext, attr: *mut IbvDmahInitAttr) -> *mut IbvDmah {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvDmahInitAttr) -> *mut IbvDmah;
    static REAL: Real<F> = Real::verbs(c"ibv_alloc_dmah", c"IBVERBS_1.15");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, attr) })
}

/// `ibv_alloc_dmah(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_dealloc_dmah(dmah: *mut IbvDmah) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvDmah) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_dealloc_dmah", c"IBVERBS_1.15");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "dmah", dmah, |real| unsafe { real(dmah) })
}

/// `mlx5dv_devx_alloc_uar(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_alloc_uar(context: *mut IbvContext, flags: u32) -> *mut Mlx5dvDevxUar {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, u32) -> *mut Mlx5dvDevxUar;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_alloc_uar", c"MLX5_1.7");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, flags) })
}

/// `mlx5dv_devx_alloc_uar(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_free_uar(devx_uar: *mut Mlx5dvDevxUar) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxUar);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_free_uar", c"MLX5_1.7");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "devx_uar", devx_uar, |real| unsafe { real(devx_uar) })
}

/// `mlx5dv_alloc_var(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_alloc_var(context: *mut IbvContext, flags: u32) -> *mut Mlx5dvVar {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, u32) -> *mut Mlx5dvVar;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_alloc_var", c"MLX5_1.12");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, flags) })
}

/// `mlx5dv_alloc_var(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_free_var(dv_var: *mut Mlx5dvVar) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvVar);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_free_var", c"MLX5_1.12");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "dv_var", dv_var, |real| unsafe { real(dv_var) })
}

/// `mlx5dv_pp_alloc(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_pp_alloc(
    context: *mut IbvContext,
    pp_context_sz: usize,
    pp_context: *const c_void,
    flags: u32,
) -> *mut Mlx5dvPp {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, usize, *const c_void, u32) -> *mut Mlx5dvPp;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_pp_alloc", c"MLX5_1.13");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, pp_context_sz, pp_context, flags) })
}

/// `mlx5dv_pp_alloc(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_pp_free(pp: *mut Mlx5dvPp) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvPp);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_pp_free", c"MLX5_1.13");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "pp", pp, |real| unsafe { real(pp) })
}

/// `mlx5dv_devx_obj_create(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_obj_create(
    context: *mut IbvContext,
    in_: *const c_void,
    inlen: usize,
    out: *mut c_void,
    outlen: usize,
) -> *mut Mlx5dvDevxObj {
    type F =
        unsafe extern "C-unwind" fn(*mut IbvContext, *const c_void, usize, *mut c_void, usize) -> *mut Mlx5dvDevxObj;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_obj_create", c"MLX5_1.7");
    // SAFETY: the caller's own arguments, handed on.
    in_context(&REAL, context, |real| unsafe { real(context, in_, inlen, out, outlen) })
}

/// `mlx5dv_devx_obj_create(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_obj_destroy(obj: *mut Mlx5dvDevxObj) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxObj) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_obj_destroy", c"MLX5_1.7");
    // SAFETY: the caller's own arguments, handed on.
    ends(&REAL, "obj", obj, |real| unsafe { real(obj) })
}

/// `mlx5dv_devx_obj_export(3)`: copies numbers out of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_obj_import(
    context: *mut IbvContext,
    data: *mut c_void,
) -> *mut Mlx5dvDevxObj {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut c_void) -> *mut Mlx5dvDevxObj;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_obj_import", c"MLX5_1.27");
    // SAFETY: the caller's own arguments, handed on.
    copied_in(&REAL, context, |real| unsafe { real(context, data) })
}

/// `mlx5dv_devx_obj_export(3)`: only frees.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_obj_unimport(obj: *mut Mlx5dvDevxObj) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxObj);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_obj_unimport", c"MLX5_1.27");
    // SAFETY: the caller's own arguments, handed on.
    freed(&REAL, "obj", obj, |real| unsafe { real(obj) })
}

/// `mlx5dv_var_export(3)`: copies numbers out of `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_var_import(context: *mut IbvContext, data: *mut c_void) -> *mut Mlx5dvVar {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut c_void) -> *mut Mlx5dvVar;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_var_import", c"MLX5_1.27");
    // SAFETY: the caller's own arguments, handed on.
    copied_in(&REAL, context, |real| unsafe { real(context, data) })
}

/// `mlx5dv_var_export(3)`: only frees.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_var_unimport(dv_var: *mut Mlx5dvVar) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvVar);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_var_unimport", c"MLX5_1.27");
    // SAFETY: the caller's own arguments, handed on.
    freed(&REAL, "dv_var", dv_var, |real| unsafe { real(dv_var) })
}
