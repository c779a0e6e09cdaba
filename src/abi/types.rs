//! The parts of rdma-core's public structs that the guard reads, mirrored. `tests/abi/layout.c` asserts each offset
//! against the real headers of every rdma-core we test with.

use std::ffi::{c_char, c_int, c_void};

pub use super::attr_types::*;
pub use super::child_types::*;

/// `struct ibv_device` (verbs.h). Only its address is used; its name comes from `ibv_get_device_name`.
#[repr(C)]
pub struct IbvDevice {
    _opaque: [u8; 0],
}

/// The head of `struct verbs_device` (driver.h), which begins with its `ibv_device`. It is private to libibverbs and its
/// providers, so no header can be compared: the programs of `tests-c/copies` that look functions up show it for each
/// rdma-core. Where it were another, nothing of a copy's would be found there.
#[repr(C)]
pub struct VerbsDevice {
    pub _device: [u64; 83],
    /// The provider's operations, in its own data.
    pub ops: *mut c_void,
    pub _refcount: c_int,
    /// The next in the list of devices, whose head is in libibverbs' own data.
    pub entry: *mut c_void,
}

/// `struct ibv_context` (verbs.h).
#[repr(C)]
pub struct IbvContext {
    pub device: *mut IbvDevice,
    pub ops: IbvContextOps,
    pub cmd_fd: c_int,
    pub async_fd: c_int,
    pub num_comp_vectors: c_int,
    pub mutex: libc::pthread_mutex_t,
    pub abi_compat: *mut c_void,
}

/// `struct ibv_context_ops` (verbs.h): 32 function pointers, of which those that are not named are never touched.
#[repr(C)]
pub struct IbvContextOps {
    pub _before: [*mut c_void; 2],
    /// The provider's own alloc_pd, kept for programs of old: nobody calls it.
    pub compat_alloc_pd: *mut c_void,
    pub _between: [*mut c_void; 4],
    pub alloc_mw: *mut c_void,
    pub _bind_mw: *mut c_void,
    pub dealloc_mw: *mut c_void,
    pub _after: [*mut c_void; 22],
}

/// What `abi_compat` holds in every context that is the tail of a `struct verbs_context` (verbs.h).
pub const ABI_IS_EXTENDED: *mut c_void = usize::MAX as *mut c_void;

/// The tail of `struct verbs_context` (verbs.h), from the first member on that we use. The struct grows at its head, so
/// distances to its end are what is stable; `sz` tells how much of it there is.
#[repr(C)]
pub struct VerbsContextTail {
    /// A private function of the libibverbs that opened the context.
    pub query_port: *mut c_void,
    pub _advise_mr: *mut c_void,
    pub alloc_null_mr: *mut c_void,
    pub _read_counters: *mut c_void,
    pub _attach_counters_point_flow: *mut c_void,
    pub create_counters: *mut c_void,
    pub destroy_counters: *mut c_void,
    pub reg_dm_mr: *mut c_void,
    pub alloc_dm: *mut c_void,
    pub free_dm: *mut c_void,
    pub _flow_action_esp: [*mut c_void; 3],
    pub _modify_qp_rate_limit: *mut c_void,
    pub alloc_parent_domain: *mut c_void,
    pub dealloc_td: *mut c_void,
    pub alloc_td: *mut c_void,
    pub _modify_cq: *mut c_void,
    pub _post_srq_ops: *mut c_void,
    pub destroy_rwq_ind_table: *mut c_void,
    pub create_rwq_ind_table: *mut c_void,
    pub destroy_wq: *mut c_void,
    pub _modify_wq: *mut c_void,
    pub create_wq: *mut c_void,
    pub _query_rt_values: *mut c_void,
    pub create_cq_ex: *mut c_void,
    pub _priv: *mut c_void,
    pub _query_device_ex: *mut c_void,
    pub ibv_destroy_flow: *mut c_void,
    pub _placeholder2: *mut c_void,
    pub ibv_create_flow: *mut c_void,
    pub _placeholder1: *mut c_void,
    pub open_qp: *mut c_void,
    pub create_qp_ex: *mut c_void,
    pub _get_srq_num: *mut c_void,
    pub create_srq_ex: *mut c_void,
    pub open_xrcd: *mut c_void,
    pub close_xrcd: *mut c_void,
    pub _placeholder3: u64,
    pub sz: usize,
    pub context: IbvContext,
}

/// `struct ibv_pd` (verbs.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvPd {
    pub context: *mut IbvContext,
    pub handle: u32,
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
