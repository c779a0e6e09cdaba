//! What the guard watches, call by call: the one list, from which docs/coverage.md is made. Tests hold what was linked
//! and which pointers are replaced against it.

use std::fmt::Write;

use crate::ledger::ChildKind as Kind;

/// How a call reaches the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A symbol, at this version node.
    Symbol(&'static str),
    /// A function pointer that an inline verb calls: of which struct, and its name there.
    Pointer(&'static str, &'static str),
}

/// What the guard takes a call for.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// It makes a child of a PD or of a context.
    Makes(Kind),
    /// It ends one.
    Ends(Kind),
    /// Something else.
    Says(&'static str),
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// What programs call it.
    pub name: &'static str,
    /// How it reaches the guard.
    pub at: At,
    /// What it does.
    pub does: Does,
}

const fn watched(name: &'static str, at: At, does: Does) -> Watched {
    Watched { name, at, does }
}

use At::{Pointer, Symbol};
use Does::{Ends, Makes, Says};

/// Every call that is watched, by what it is about.
#[rustfmt::skip]
pub const WATCHED: &[(&str, &[Watched])] = &[
    ("Contexts", &[
        watched("ibv_open_device", Symbol("IBVERBS_1.1"), Says("makes a context")),
        watched("mlx5dv_open_device", Symbol("MLX5_1.7"), Says("makes a context")),
        watched("ibv_import_device", Symbol("IBVERBS_1.10"), Says("makes a context on a device file that is shared")),
        watched("ibv_close_device", Symbol("IBVERBS_1.1"), Says("ends a context, and tells what is left in it")),
    ]),
    ("PDs and UMEMs", &[
        watched("ibv_alloc_pd", Symbol("IBVERBS_1.1"), Says("makes a PD")),
        watched("ibv_import_pd", Symbol("IBVERBS_1.10"), Says("imports a PD")),
        watched("ibv_unimport_pd", Symbol("IBVERBS_1.10"), Says("ends a reference to a PD")),
        watched("ibv_dealloc_pd", Symbol("IBVERBS_1.1"), Says("ends a PD, or a parent domain")),
        watched("mlx5dv_devx_umem_reg", Symbol("MLX5_1.7"), Says("makes a UMEM")),
        watched("mlx5dv_devx_umem_reg_ex", Symbol("MLX5_1.19"), Says("makes a UMEM")),
        watched("mlx5dv_devx_umem_export", Symbol("MLX5_1.27"), Says("exports a UMEM")),
        watched("mlx5dv_devx_umem_import", Symbol("MLX5_1.27"), Says("imports a UMEM")),
        watched("mlx5dv_devx_umem_unimport", Symbol("MLX5_1.27"), Says("ends a reference to a UMEM")),
        watched("mlx5dv_devx_umem_dereg", Symbol("MLX5_1.7"), Says("ends a UMEM")),
        watched("_mlx5dv_get_export_sizes", Symbol("MLX5_1.27"), Says("tells how much an export writes")),
    ]),
    ("Children of PDs", &[
        watched("ibv_reg_mr", Symbol("IBVERBS_1.1"), Makes(Kind::Mr)),
        watched("ibv_reg_mr_iova", Symbol("IBVERBS_1.7"), Makes(Kind::Mr)),
        watched("ibv_reg_mr_iova2", Symbol("IBVERBS_1.8"), Makes(Kind::Mr)),
        watched("ibv_reg_dmabuf_mr", Symbol("IBVERBS_1.12"), Makes(Kind::Mr)),
        watched("ibv_reg_mr_ex", Symbol("IBVERBS_1.15"), Makes(Kind::Mr)),
        watched("ibv_reg_buf_mr", Symbol("IBVERBS_1.17"), Makes(Kind::Mr)),
        watched("mlx5dv_reg_dmabuf_mr", Symbol("MLX5_1.25"), Makes(Kind::Mr)),
        watched("ibv_import_mr", Symbol("IBVERBS_1.10"), Makes(Kind::Mr)),
        watched("ibv_alloc_null_mr", Pointer("verbs_context", "alloc_null_mr"), Makes(Kind::NullMr)),
        watched("ibv_reg_dm_mr", Pointer("verbs_context", "reg_dm_mr"), Makes(Kind::Mr)),
        watched("ibv_rereg_mr", Symbol("IBVERBS_1.1"), Says("may move an mr to another PD")),
        watched("ibv_dereg_mr", Symbol("IBVERBS_1.1"), Ends(Kind::Mr)),
        watched("ibv_unimport_mr", Symbol("IBVERBS_1.10"), Ends(Kind::Mr)),
        watched("ibv_alloc_mw", Pointer("ibv_context_ops", "alloc_mw"), Makes(Kind::Mw)),
        watched("ibv_dealloc_mw", Pointer("ibv_context_ops", "dealloc_mw"), Ends(Kind::Mw)),
        watched("ibv_create_qp", Symbol("IBVERBS_1.1"), Makes(Kind::Qp)),
        watched("ibv_create_qp_ex", Pointer("verbs_context", "create_qp_ex"), Makes(Kind::Qp)),
        watched("mlx5dv_create_qp", Symbol("MLX5_1.3"), Makes(Kind::Qp)),
        watched("ibv_open_qp", Pointer("verbs_context", "open_qp"), Makes(Kind::Qp)),
        watched("ibv_destroy_qp", Symbol("IBVERBS_1.1"), Ends(Kind::Qp)),
        watched("ibv_create_srq", Symbol("IBVERBS_1.1"), Makes(Kind::Srq)),
        watched("ibv_create_srq_ex", Pointer("verbs_context", "create_srq_ex"), Makes(Kind::Srq)),
        watched("ibv_destroy_srq", Symbol("IBVERBS_1.1"), Ends(Kind::Srq)),
        watched("ibv_create_ah", Symbol("IBVERBS_1.1"), Makes(Kind::Ah)),
        watched("ibv_create_ah_from_wc", Symbol("IBVERBS_1.1"), Makes(Kind::Ah)),
        watched("ibv_destroy_ah", Symbol("IBVERBS_1.1"), Ends(Kind::Ah)),
        watched("ibv_create_wq", Pointer("verbs_context", "create_wq"), Makes(Kind::Wq)),
        watched("mlx5dv_create_wq", Symbol("MLX5_1.3"), Makes(Kind::Wq)),
        watched("ibv_destroy_wq", Pointer("verbs_context", "destroy_wq"), Ends(Kind::Wq)),
        watched("ibv_alloc_parent_domain", Pointer("verbs_context", "alloc_parent_domain"), Makes(Kind::ParentDomain)),
        watched("mlx5dv_create_mkey", Symbol("MLX5_1.10"), Makes(Kind::Mkey)),
        watched("mlx5dv_destroy_mkey", Symbol("MLX5_1.10"), Ends(Kind::Mkey)),
        watched("mlx5dv_dek_create", Symbol("MLX5_1.21"), Makes(Kind::Dek)),
        watched("mlx5dv_dek_destroy", Symbol("MLX5_1.21"), Ends(Kind::Dek)),
        watched("ibv_alloc_buf", Symbol("IBVERBS_1.17"), Makes(Kind::Buf)),
        watched("ibv_free_buf", Symbol("IBVERBS_1.17"), Ends(Kind::Buf)),
        watched("mlx5dv_init_obj", Symbol("MLX5_1.2"), Says("tells the program a PD's number: DEVX children are unknown from then on")),
    ]),
    ("What else lives in a context", &[
        watched("ibv_create_cq", Symbol("IBVERBS_1.1"), Makes(Kind::Cq)),
        watched("ibv_create_cq_ex", Pointer("verbs_context", "create_cq_ex"), Makes(Kind::Cq)),
        watched("mlx5dv_create_cq", Symbol("MLX5_1.1"), Makes(Kind::Cq)),
        watched("ibv_destroy_cq", Symbol("IBVERBS_1.1"), Ends(Kind::Cq)),
        watched("ibv_create_comp_channel", Symbol("IBVERBS_1.0"), Makes(Kind::CompChannel)),
        watched("ibv_destroy_comp_channel", Symbol("IBVERBS_1.0"), Ends(Kind::CompChannel)),
        watched("ibv_alloc_dm", Pointer("verbs_context", "alloc_dm"), Makes(Kind::Dm)),
        watched("mlx5dv_alloc_dm", Symbol("MLX5_1.10"), Makes(Kind::Dm)),
        watched("ibv_import_dm", Symbol("IBVERBS_1.13"), Makes(Kind::Dm)),
        watched("ibv_free_dm", Pointer("verbs_context", "free_dm"), Ends(Kind::Dm)),
        watched("ibv_unimport_dm", Symbol("IBVERBS_1.13"), Ends(Kind::Dm)),
        watched("ibv_alloc_dmah", Symbol("IBVERBS_1.15"), Makes(Kind::Dmah)),
        watched("ibv_dealloc_dmah", Symbol("IBVERBS_1.15"), Ends(Kind::Dmah)),
        watched("ibv_create_counters", Pointer("verbs_context", "create_counters"), Makes(Kind::Counters)),
        watched("ibv_destroy_counters", Pointer("verbs_context", "destroy_counters"), Ends(Kind::Counters)),
        watched("ibv_create_flow", Pointer("verbs_context", "ibv_create_flow"), Makes(Kind::Flow)),
        watched("ibv_destroy_flow", Pointer("verbs_context", "ibv_destroy_flow"), Ends(Kind::Flow)),
        watched("ibv_alloc_td", Pointer("verbs_context", "alloc_td"), Makes(Kind::Td)),
        watched("ibv_dealloc_td", Pointer("verbs_context", "dealloc_td"), Ends(Kind::Td)),
        watched("ibv_open_xrcd", Pointer("verbs_context", "open_xrcd"), Makes(Kind::Xrcd)),
        watched("ibv_close_xrcd", Pointer("verbs_context", "close_xrcd"), Ends(Kind::Xrcd)),
        watched("ibv_create_rwq_ind_table", Pointer("verbs_context", "create_rwq_ind_table"), Makes(Kind::IndTable)),
        watched("ibv_destroy_rwq_ind_table", Pointer("verbs_context", "destroy_rwq_ind_table"), Ends(Kind::IndTable)),
        watched("mlx5dv_devx_alloc_uar", Symbol("MLX5_1.7"), Makes(Kind::Uar)),
        watched("mlx5dv_devx_free_uar", Symbol("MLX5_1.7"), Ends(Kind::Uar)),
        watched("mlx5dv_alloc_var", Symbol("MLX5_1.12"), Makes(Kind::Var)),
        watched("mlx5dv_var_import", Symbol("MLX5_1.27"), Makes(Kind::Var)),
        watched("mlx5dv_free_var", Symbol("MLX5_1.12"), Ends(Kind::Var)),
        watched("mlx5dv_var_unimport", Symbol("MLX5_1.27"), Ends(Kind::Var)),
        watched("mlx5dv_pp_alloc", Symbol("MLX5_1.13"), Makes(Kind::Pp)),
        watched("mlx5dv_pp_free", Symbol("MLX5_1.13"), Ends(Kind::Pp)),
        watched("mlx5dv_devx_obj_create", Symbol("MLX5_1.7"), Makes(Kind::Devx)),
        watched("mlx5dv_devx_obj_import", Symbol("MLX5_1.27"), Makes(Kind::Devx)),
        watched("mlx5dv_devx_obj_destroy", Symbol("MLX5_1.7"), Ends(Kind::Devx)),
        watched("mlx5dv_devx_obj_unimport", Symbol("MLX5_1.27"), Ends(Kind::Devx)),
    ]),
];

/// The pointers of the data path, which are the provider's own in every context.
pub const UNTOUCHED: &[(&str, &[&str])] =
    &[("ibv_context_ops", &["poll_cq", "req_notify_cq", "post_srq_recv", "post_send", "post_recv", "bind_mw"])];

/// Every call that is watched.
pub fn all() -> impl Iterator<Item = &'static Watched> {
    WATCHED.iter().flat_map(|(_, group)| group.iter())
}

impl Does {
    fn in_words(self) -> String {
        match self {
            Makes(kind) => format!("makes: {}", kind.word()),
            Ends(kind) => format!("ends: {}", kind.word()),
            Says(words) => words.into(),
        }
    }
}

impl At {
    fn in_words(self) -> String {
        match self {
            Symbol(node) => format!("`{node}`"),
            Pointer(of, field) => format!("pointer `{of}.{field}`"),
        }
    }
}

const HEAD: &str = "\
<!-- Made from core/src/coverage.rs by core/tests/generated.rs. -->

# What is watched

Every call that the guard stands in front of, and how the call reaches it: as a symbol, at the version node of the real
library; or, where rdma-core's headers define a verb inline, as a function pointer in the context, which is replaced
when the context is opened or imported (only where the library's struct is big enough to have it).

A function that the real library lacks does no harm: a program that was built for that library does not call it.
";

/// docs/coverage.md.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for (title, group) in WATCHED {
        _ = write!(page, "\n## {title}\n\n| call | reached as | watched as |\n|---|---|---|\n");
        for call in *group {
            _ = writeln!(page, "| `{}` | {} | {} |", call.name, call.at.in_words(), call.does.in_words());
        }
    }
    page.push_str("\n## Never touched\n\nThe data path. These pointers are the provider's own in every context:\n\n");
    for (of, fields) in UNTOUCHED {
        _ = writeln!(page, "- `{of}`: {}", fields.join(", "));
    }
    page.push_str("- `ibv_qp_ex`, `ibv_cq_ex`, `ibv_wq`: all\n");
    page
}
