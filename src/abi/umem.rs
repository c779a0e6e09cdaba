//! DEVX UMEMs: register, deregister, export, import, unimport.

use std::ffi::{c_int, c_void};

use verbsguard_core::ledger::Kind;
use verbsguard_core::track::End;

use super::types::{IbvContext, Mlx5dvDevxUmem, Mlx5dvDevxUmemIn, Mlx5dvExportSizes};
use crate::call::run;
use crate::copies::{Owner, Sight};
use crate::real::Real;

/// `mlx5dv_devx_umem_reg(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_reg(
    ctx: *mut IbvContext,
    addr: *mut c_void,
    size: usize,
    access: u32,
) -> *mut Mlx5dvDevxUmem {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut c_void, usize, u32) -> *mut Mlx5dvDevxUmem;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_reg", c"MLX5_1.7");
    run(
        &REAL,
        ctx,
        |guard| guard.before_birth(&REAL, ctx),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(ctx, addr, size, access) },
        |guard, token, umem| guard.after_umem_reg(&REAL, token, *umem, (addr, size, access)),
    )
}

/// `mlx5dv_devx_umem_reg_ex(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_reg_ex(
    ctx: *mut IbvContext,
    umem_in: *mut Mlx5dvDevxUmemIn,
) -> *mut Mlx5dvDevxUmem {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut Mlx5dvDevxUmemIn) -> *mut Mlx5dvDevxUmem;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_reg_ex", c"MLX5_1.19");
    run(
        &REAL,
        ctx,
        |guard| guard.before_birth_with(&REAL, ctx, "umem_in", umem_in.addr()),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(ctx, umem_in) },
        |guard, token, umem| guard.after_umem_reg_ex(&REAL, token, *umem, umem_in),
    )
}

/// `mlx5dv_devx_umem_dereg(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_dereg(umem: *mut Mlx5dvDevxUmem) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxUmem) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_dereg", c"MLX5_1.7");
    run(
        &REAL,
        umem,
        |guard| guard.before_release(&REAL, "umem", umem.addr(), Kind::Umem, End::Destroy),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(umem) },
        |guard, token, answer| guard.after_release(&REAL, token, *answer),
    )
}

/// `mlx5dv_devx_umem_export(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_export(umem: *mut Mlx5dvDevxUmem, data: *mut c_void) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxUmem, *mut c_void) -> c_int;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_export", c"MLX5_1.27");
    run(
        &REAL,
        umem,
        |guard| guard.before_export(&REAL, umem.addr(), data.addr()),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(umem, data) },
        |guard, token, answer| guard.after_export(token, *answer),
    )
}

/// `mlx5dv_devx_umem_import(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_import(
    context: *mut IbvContext,
    data: *mut c_void,
) -> *mut Mlx5dvDevxUmem {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext, *mut c_void) -> *mut Mlx5dvDevxUmem;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_import", c"MLX5_1.27");
    run(
        &REAL,
        context,
        |guard| guard.before_umem_import(&REAL, context, data.addr()),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(context, data) },
        |guard, token, umem| guard.after_umem_import(&REAL, token, *umem),
    )
}

/// `mlx5dv_devx_umem_unimport(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_devx_umem_unimport(umem: *mut Mlx5dvDevxUmem) {
    type F = unsafe extern "C-unwind" fn(*mut Mlx5dvDevxUmem);
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_devx_umem_unimport", c"MLX5_1.27");
    run(
        &REAL,
        umem,
        |guard| guard.before_release(&REAL, "umem", umem.addr(), Kind::Umem, End::Unimport),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(umem) },
        |guard, token, ()| guard.after_release(&REAL, token, 0),
    )
}

type GetExportSizes = unsafe extern "C-unwind" fn(*mut Mlx5dvExportSizes, usize);
static GET_EXPORT_SIZES: Real<GetExportSizes> = Real::mlx5(c"_mlx5dv_get_export_sizes", c"MLX5_1.27");

/// Behind the inline `mlx5dv_get_export_sizes(3)`: watched so that a provider without it is named.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _mlx5dv_get_export_sizes(sizes: *mut Mlx5dvExportSizes, sizes_len: usize) {
    run(
        &GET_EXPORT_SIZES,
        Owner::Caller,
        |guard| guard.before_pointer(&GET_EXPORT_SIZES, "sizes", sizes.addr()),
        // SAFETY: the caller's own arguments, handed on.
        |real| unsafe { real(sizes, sizes_len) },
        |_, (), ()| (),
    )
}

/// How many bytes an exported UMEM's blob has with the copy that a call is for: `{u32 handle, u32 umem_id}` where that
/// does not say.
pub fn export_size(owner: Owner) -> usize {
    let Some(real) = GET_EXPORT_SIZES.get(owner, Sight::Known) else { return 8 };
    let mut sizes = Mlx5dvExportSizes::default();
    // SAFETY: the real function fills a struct of this size.
    unsafe { real(&raw mut sizes, size_of::<Mlx5dvExportSizes>()) };
    (sizes.devx_umem_attrs_size as usize).clamp(8, 256)
}
