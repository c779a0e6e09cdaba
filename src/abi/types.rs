//! The parts of rdma-core's public structs that the guard reads, mirrored. `tests/abi/layout.c` asserts each offset
//! against the real headers of every rdma-core we test with.

use std::ffi::{c_char, c_int, c_void};

/// `struct ibv_device` (verbs.h). Only its address is used; its name comes from `ibv_get_device_name`.
#[repr(C)]
pub struct IbvDevice {
    _opaque: [u8; 0],
}

/// `struct ibv_context` (verbs.h).
#[repr(C)]
pub struct IbvContext {
    pub device: *mut IbvDevice,
    /// `struct ibv_context_ops`: 32 function pointers.
    pub ops: [*mut c_void; 32],
    pub cmd_fd: c_int,
    pub async_fd: c_int,
    pub num_comp_vectors: c_int,
    pub mutex: libc::pthread_mutex_t,
    pub abi_compat: *mut c_void,
}

/// What `abi_compat` holds in every context that is the tail of a `struct verbs_context` (verbs.h).
pub const ABI_IS_EXTENDED: *mut c_void = usize::MAX as *mut c_void;

/// The tail of `struct verbs_context` (verbs.h), from `alloc_parent_domain` on. The struct grows at its head, so
/// distances to its end are what is stable; `sz` tells how much of it there is.
#[repr(C)]
pub struct VerbsContextTail {
    pub alloc_parent_domain: Option<AllocParentDomain>,
    pub between: [*mut c_void; 24],
    pub sz: usize,
    pub context: IbvContext,
}

/// `verbs_context.alloc_parent_domain`.
pub type AllocParentDomain = unsafe extern "C-unwind" fn(*mut IbvContext, *mut IbvParentDomainInitAttr) -> *mut IbvPd;

/// `struct ibv_parent_domain_init_attr` (verbs.h); only its head is read.
#[repr(C)]
pub struct IbvParentDomainInitAttr {
    pub pd: *mut IbvPd,
}

/// `struct ibv_pd` (verbs.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvPd {
    pub context: *mut IbvContext,
    pub handle: u32,
}

/// `struct ibv_mr` (verbs.h).
#[repr(C)]
pub struct IbvMr {
    pub context: *mut IbvContext,
    pub pd: *mut IbvPd,
    pub addr: *mut c_void,
    pub length: usize,
    pub handle: u32,
    pub lkey: u32,
    pub rkey: u32,
}

/// `struct ibv_mr_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvMrInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_buf` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvBuf {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_context_attr` (mlx5dv.h): handed on, never read.
#[repr(C)]
pub struct Mlx5dvContextAttr {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_export_sizes` (mlx5dv.h).
#[repr(C)]
#[derive(Default)]
pub struct Mlx5dvExportSizes {
    pub var_attrs_size: u32,
    pub devx_umem_attrs_size: u32,
    pub devx_obj_attrs_size: u32,
}

/// `struct mlx5dv_devx_umem` (mlx5dv.h), and what libmlx5 keeps behind it. The tail is private to libmlx5 and was the
/// same from rdma-core 16 to 65; `context` tells whether it is that on this library (a VFIO context's is another).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Mlx5dvDevxUmem {
    pub umem_id: u32,
    pub context: *mut IbvContext,
    pub handle: u32,
}

/// `struct mlx5dv_devx_umem_in` (mlx5dv.h). Callers built before rdma-core 42 pass one without `dmabuf_fd`.
#[repr(C)]
pub struct Mlx5dvDevxUmemIn {
    pub addr: *mut c_void,
    pub size: usize,
    pub access: u32,
    pub pgsz_bitmap: u64,
    pub comp_mask: u64,
    pub dmabuf_fd: c_int,
}

/// `MLX5DV_UMEM_MASK_DMABUF` (mlx5dv.h).
pub const MLX5DV_UMEM_MASK_DMABUF: u64 = 1;

/// `struct mlx5dv_obj` (mlx5dv.h): pairs of in and out pointers, of which we use the PD's.
#[repr(C)]
pub struct Mlx5dvObj {
    pub before_pd: [*mut c_void; 12],
    pub pd_in: *mut IbvPd,
    pub pd_out: *mut Mlx5dvPd,
    /// Room for what later versions append.
    pub after_pd: [*mut c_void; 8],
}

/// `MLX5DV_OBJ_PD` (mlx5dv.h).
pub const MLX5DV_OBJ_PD: u64 = 1 << 6;

/// `struct mlx5dv_pd` (mlx5dv.h).
#[repr(C)]
#[derive(Default)]
pub struct Mlx5dvPd {
    pub pdn: u32,
    pub comp_mask: u64,
}

/// `const char *`, as `ibv_get_device_name` answers.
pub type CName = *const c_char;
