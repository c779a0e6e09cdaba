//! Contexts: open, import, close.

use std::ffi::c_int;

use verbsguard_core::track::ContextOrigin;

use super::types::{IbvContext, IbvDevice, Mlx5dvContextAttr};
use crate::call::{Decision, MinusOne, run};
use crate::copies::{Owner, meet};
use crate::pointers;
use crate::real::Real;

/// `ibv_open_device(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_open_device(device: *mut IbvDevice) -> *mut IbvContext {
    type F = unsafe extern "C-unwind" fn(*mut IbvDevice) -> *mut IbvContext;
    static REAL: Real<F> = Real::verbs(c"ibv_open_device", c"IBVERBS_1.1");
    run(
        &REAL,
        device,
        |guard| guard.before_pointer(&REAL, "device", device.addr()),
        // SAFETY: the caller's own arguments, handed on.
        |real| meet(unsafe { real(device) }),
        |guard, (), context| guard.after_open(&REAL, *context, ContextOrigin::Opened),
    )
}

/// `mlx5dv_open_device(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mlx5dv_open_device(
    device: *mut IbvDevice,
    attr: *mut Mlx5dvContextAttr,
) -> *mut IbvContext {
    type F = unsafe extern "C-unwind" fn(*mut IbvDevice, *mut Mlx5dvContextAttr) -> *mut IbvContext;
    static REAL: Real<F> = Real::mlx5(c"mlx5dv_open_device", c"MLX5_1.7");
    run(
        &REAL,
        device,
        |guard| guard.before_pointers(&REAL, [("device", device.addr()), ("attr", attr.addr())]),
        // SAFETY: the caller's own arguments, handed on.
        |real| meet(unsafe { real(device, attr) }),
        |guard, (), context| guard.after_open(&REAL, *context, ContextOrigin::Opened),
    )
}

/// `ibv_import_device(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_import_device(cmd_fd: c_int) -> *mut IbvContext {
    type F = unsafe extern "C-unwind" fn(c_int) -> *mut IbvContext;
    static REAL: Real<F> = Real::verbs(c"ibv_import_device", c"IBVERBS_1.10");
    run(
        &REAL,
        Owner::Descriptor,
        |_| Decision::Forward(Some(())),
        // SAFETY: the caller's own arguments, handed on.
        |real| meet(unsafe { real(cmd_fd) }),
        |guard, (), context| guard.after_open(&REAL, *context, ContextOrigin::Imported),
    )
}

/// `ibv_close_device(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ibv_close_device(context: *mut IbvContext) -> c_int {
    type F = unsafe extern "C-unwind" fn(*mut IbvContext) -> c_int;
    static REAL: Real<F> = Real::verbs(c"ibv_close_device", c"IBVERBS_1.1");
    run(
        &REAL,
        context,
        |guard| guard.before_close(&REAL, context),
        |real| {
            let watched = pointers::unwatch(context);
            // SAFETY: the caller's own argument, handed on.
            let answer = unsafe { real(context) };
            if answer != 0 {
                pointers::watch_again(context, watched);
            }
            MinusOne(answer)
        },
        |guard, token, answer| guard.after_close(&REAL, token, answer.0),
    )
    .0
}
