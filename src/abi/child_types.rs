//! The structs of what hangs on a PD or lives in a context, and the attributes that make them, as far as the guard reads
//! them.

use std::ffi::c_void;

use verbsguard_core::track::ChildKind;

use super::types::{IbvContext, IbvPd};

/// A struct that a creating call returns.
pub trait Made {
    /// What it is.
    const KIND: ChildKind;

    /// The kernel's number for it, where the struct tells.
    fn handle(&self) -> Option<u32> {
        None
    }

    /// The device's number for it, where the struct tells.
    fn number(&self) -> Option<u32> {
        None
    }
}

/// Of all that is an `ibv_pd` only a parent domain is made as a child.
impl Made for IbvPd {
    const KIND: ChildKind = ChildKind::ParentDomain;
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

impl Made for IbvMr {
    const KIND: ChildKind = ChildKind::Mr;
    fn handle(&self) -> Option<u32> {
        Some(self.handle)
    }
    fn number(&self) -> Option<u32> {
        Some(self.lkey)
    }
}

/// The `struct ibv_mr` of a region of nothing, which no kernel knows of.
#[repr(transparent)]
pub struct NullMr(IbvMr);

impl Made for NullMr {
    const KIND: ChildKind = ChildKind::NullMr;
    fn number(&self) -> Option<u32> {
        Some(self.0.lkey)
    }
}

/// `struct ibv_mw` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvMw {
    pub context: *mut IbvContext,
    pub pd: *mut IbvPd,
    pub rkey: u32,
    pub handle: u32,
}

impl Made for IbvMw {
    const KIND: ChildKind = ChildKind::Mw;
    fn handle(&self) -> Option<u32> {
        Some(self.handle)
    }
    fn number(&self) -> Option<u32> {
        Some(self.rkey)
    }
}

/// `struct ibv_qp` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvQp {
    pub context: *mut IbvContext,
    pub _before: [*mut c_void; 5],
    pub handle: u32,
    pub qp_num: u32,
}

impl Made for IbvQp {
    const KIND: ChildKind = ChildKind::Qp;
    fn handle(&self) -> Option<u32> {
        Some(self.handle)
    }
    fn number(&self) -> Option<u32> {
        Some(self.qp_num)
    }
}

/// `struct ibv_srq` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvSrq {
    pub context: *mut IbvContext,
    pub _before: [*mut c_void; 2],
    pub handle: u32,
}

impl Made for IbvSrq {
    const KIND: ChildKind = ChildKind::Srq;
    fn handle(&self) -> Option<u32> {
        Some(self.handle)
    }
}

/// `struct ibv_wq` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvWq {
    pub context: *mut IbvContext,
    pub _before: [*mut c_void; 3],
    pub wq_num: u32,
    pub handle: u32,
}

impl Made for IbvWq {
    const KIND: ChildKind = ChildKind::Wq;
    fn handle(&self) -> Option<u32> {
        Some(self.handle)
    }
    fn number(&self) -> Option<u32> {
        Some(self.wq_num)
    }
}

/// `struct ibv_ah` (verbs.h). Its handle tells nothing: some AHs are no kernel objects.
#[repr(C)]
pub struct IbvAh {
    _opaque: [u8; 0],
}

impl Made for IbvAh {
    const KIND: ChildKind = ChildKind::Ah;
}

/// `struct mlx5dv_mkey` (mlx5dv.h).
#[repr(C)]
pub struct Mlx5dvMkey {
    pub lkey: u32,
    pub rkey: u32,
}

impl Made for Mlx5dvMkey {
    const KIND: ChildKind = ChildKind::Mkey;
    fn number(&self) -> Option<u32> {
        Some(self.lkey)
    }
}

/// `struct ibv_flow` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvFlow {
    pub _comp_mask: u32,
    pub context: *mut IbvContext,
}

impl Made for IbvFlow {
    const KIND: ChildKind = ChildKind::Flow;
}

/// `struct ibv_dm` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvDm {
    pub context: *mut IbvContext,
}

impl Made for IbvDm {
    const KIND: ChildKind = ChildKind::Dm;
}

/// `struct ibv_counters` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvCounters {
    pub context: *mut IbvContext,
}

impl Made for IbvCounters {
    const KIND: ChildKind = ChildKind::Counters;
}

/// `struct ibv_td` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvTd {
    pub context: *mut IbvContext,
}

impl Made for IbvTd {
    const KIND: ChildKind = ChildKind::Td;
}

/// `struct ibv_xrcd` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvXrcd {
    pub context: *mut IbvContext,
}

impl Made for IbvXrcd {
    const KIND: ChildKind = ChildKind::Xrcd;
}

/// `struct ibv_rwq_ind_table` (verbs.h), as far as it is read.
#[repr(C)]
pub struct IbvRwqIndTable {
    pub context: *mut IbvContext,
}

impl Made for IbvRwqIndTable {
    const KIND: ChildKind = ChildKind::IndTable;
}

/// Structs of which only the address is used.
macro_rules! made {
    ($($name:ident $kind:ident;)*) => {
        $(impl Made for $name {
            const KIND: ChildKind = ChildKind::$kind;
        })*
    };
}

made! {
    IbvBuf Buf;
    IbvCq Cq;
    IbvCqEx Cq;
    IbvCompChannel CompChannel;
    IbvDmah Dmah;
    Mlx5dvDek Dek;
    Mlx5dvDevxUar Uar;
    Mlx5dvVar Var;
    Mlx5dvPp Pp;
    Mlx5dvDevxObj Devx;
}

/// `struct ibv_buf` (verbs.h): only its address is used.
#[repr(C)]
pub struct IbvBuf {
    _opaque: [u8; 0],
}

/// `struct ibv_cq` (verbs.h): only its address is used.
#[repr(C)]
pub struct IbvCq {
    _opaque: [u8; 0],
}

/// `struct ibv_cq_ex` (verbs.h): only its address is used.
#[repr(C)]
pub struct IbvCqEx {
    _opaque: [u8; 0],
}

/// `struct ibv_comp_channel` (verbs.h): only its address is used.
#[repr(C)]
pub struct IbvCompChannel {
    _opaque: [u8; 0],
}

/// `struct ibv_dmah` (verbs.h): only its address is used.
#[repr(C)]
pub struct IbvDmah {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_dek` (mlx5dv.h): only its address is used.
#[repr(C)]
pub struct Mlx5dvDek {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_devx_uar` (mlx5dv.h): only its address is used.
#[repr(C)]
pub struct Mlx5dvDevxUar {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_var` (mlx5dv.h): only its address is used.
#[repr(C)]
pub struct Mlx5dvVar {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_pp` (mlx5dv.h): only its address is used.
#[repr(C)]
pub struct Mlx5dvPp {
    _opaque: [u8; 0],
}

/// `struct mlx5dv_devx_obj` (mlx5dv.h): only its address is used.
#[repr(C)]
pub struct Mlx5dvDevxObj {
    _opaque: [u8; 0],
}
