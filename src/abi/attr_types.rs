//! The attributes of calls that make children, as far as the guard reads them.

use std::ffi::{c_int, c_void};

use super::types::IbvPd;

/// `struct ibv_parent_domain_init_attr` (verbs.h); only its head is read.
#[repr(C)]
pub struct IbvParentDomainInitAttr {
    pub pd: *mut IbvPd,
}

/// `struct ibv_qp_init_attr_ex` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvQpInitAttrEx {
    pub _before: [*mut c_void; 4],
    pub _cap_and_type: [u32; 7],
    pub comp_mask: u32,
    pub pd: *mut IbvPd,
}

/// `struct ibv_srq_init_attr_ex` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvSrqInitAttrEx {
    pub _srq_context: *mut c_void,
    pub _attr: [u32; 3],
    pub comp_mask: u32,
    pub _srq_type: c_int,
    pub pd: *mut IbvPd,
}

/// `struct ibv_wq_init_attr` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvWqInitAttr {
    pub _wq_context: *mut c_void,
    pub _type_and_sizes: [u32; 3],
    pub pd: *mut IbvPd,
}

/// `struct mlx5dv_mkey_init_attr` (mlx5dv.h), as far as it is read.
#[repr(C)]
pub struct Mlx5dvMkeyInitAttr {
    pub pd: *mut IbvPd,
}

/// `struct mlx5dv_dek_init_attr` (mlx5dv.h), as far as it is read.
#[repr(C)]
pub struct Mlx5dvDekInitAttr {
    pub _key: [u32; 3],
    pub pd: *mut IbvPd,
}

/// `struct ibv_mr_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvMrInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_qp_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvQpInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_qp_open_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvQpOpenAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_srq_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvSrqInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_ah_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvAhAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_wc` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvWc {
    _opaque: [u8; 0],
}

/// `struct ibv_grh` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvGrh {
    _opaque: [u8; 0],
}

/// `struct ibv_cq_init_attr_ex` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvCqInitAttrEx {
    _opaque: [u8; 0],
}

/// `struct ibv_alloc_dm_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvAllocDmAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_dmah_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvDmahInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_counters_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvCountersInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_flow_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvFlowAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_td_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvTdInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_xrcd_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvXrcdInitAttr {
    _opaque: [u8; 0],
}

/// `struct ibv_rwq_ind_table_init_attr` (verbs.h): handed on, never read.
#[repr(C)]
pub struct IbvRwqIndTableInitAttr {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_qp_init_attr` (mlx5dv.h): handed on, never read.
#[repr(C)]
pub struct Mlx5dvQpInitAttr {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_wq_init_attr` (mlx5dv.h): handed on, never read.
#[repr(C)]
pub struct Mlx5dvWqInitAttr {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_cq_init_attr` (mlx5dv.h): handed on, never read.
#[repr(C)]
pub struct Mlx5dvCqInitAttr {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_alloc_dm_attr` (mlx5dv.h): handed on, never read.
#[repr(C)]
pub struct Mlx5dvAllocDmAttr {
    _opaque: [u8; 0],
}
