//! C made from the guard's Rust by cbindgen: the header that users include, and two for the ABI tests.

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, Style};

use crate::{Outcome, project};

/// Where the users' header lies.
pub const PUBLIC: &str = "include/verbsguard.h";

/// The rdma-core types that the interposed functions name, as Rust and as C call them.
const RDMA_CORE_TYPES: &[(&str, &str)] = &[
    ("IbvAh", "ibv_ah"),
    ("IbvAhAttr", "ibv_ah_attr"),
    ("IbvAllocDmAttr", "ibv_alloc_dm_attr"),
    ("IbvBuf", "ibv_buf"),
    ("IbvCompChannel", "ibv_comp_channel"),
    ("IbvContext", "ibv_context"),
    ("IbvCq", "ibv_cq"),
    ("IbvCqEx", "ibv_cq_ex"),
    ("IbvCqInitAttrEx", "ibv_cq_init_attr_ex"),
    ("IbvDevice", "ibv_device"),
    ("IbvDm", "ibv_dm"),
    ("IbvDmah", "ibv_dmah"),
    ("IbvDmahInitAttr", "ibv_dmah_init_attr"),
    ("IbvGrh", "ibv_grh"),
    ("IbvMr", "ibv_mr"),
    ("IbvMrInitAttr", "ibv_mr_init_attr"),
    ("IbvPd", "ibv_pd"),
    ("IbvQp", "ibv_qp"),
    ("IbvQpInitAttr", "ibv_qp_init_attr"),
    ("IbvQpInitAttrEx", "ibv_qp_init_attr_ex"),
    ("IbvSrq", "ibv_srq"),
    ("IbvSrqInitAttr", "ibv_srq_init_attr"),
    ("IbvWc", "ibv_wc"),
    ("IbvWq", "ibv_wq"),
    ("IbvWqInitAttr", "ibv_wq_init_attr"),
    ("Mlx5dvAllocDmAttr", "mlx5dv_alloc_dm_attr"),
    ("Mlx5dvContextAttr", "mlx5dv_context_attr"),
    ("Mlx5dvCqInitAttr", "mlx5dv_cq_init_attr"),
    ("Mlx5dvDek", "mlx5dv_dek"),
    ("Mlx5dvDekInitAttr", "mlx5dv_dek_init_attr"),
    ("Mlx5dvDevxObj", "mlx5dv_devx_obj"),
    ("Mlx5dvDevxUar", "mlx5dv_devx_uar"),
    ("Mlx5dvDevxUmem", "mlx5dv_devx_umem"),
    ("Mlx5dvDevxUmemIn", "mlx5dv_devx_umem_in"),
    ("Mlx5dvExportSizes", "mlx5dv_export_sizes"),
    ("Mlx5dvMkey", "mlx5dv_mkey"),
    ("Mlx5dvMkeyInitAttr", "mlx5dv_mkey_init_attr"),
    ("Mlx5dvObj", "mlx5dv_obj"),
    ("Mlx5dvPp", "mlx5dv_pp"),
    ("Mlx5dvQpInitAttr", "mlx5dv_qp_init_attr"),
    ("Mlx5dvVar", "mlx5dv_var"),
    ("Mlx5dvWqInitAttr", "mlx5dv_wq_init_attr"),
];

/// The files of `src/abi` that interpose functions.
const INTERPOSED: &[&str] = &["context", "context_children", "mr", "pd", "pd_children", "umem"];

/// The users' header, from `src/abi/control.rs` and `cbindgen.toml`.
pub fn public() -> Outcome<String> {
    let config = Config::from_file(project().join("cbindgen.toml"))?;
    generate(config, &["control"])
}

/// Prototypes of the interposed functions, with rdma-core's names for its types.
pub fn interposed() -> Outcome<String> {
    let mut config = plain();
    config.export.item_types = vec![ItemType::Functions];
    let renames = RDMA_CORE_TYPES.iter().map(|(rust, c)| ((*rust).to_owned(), format!("struct {c}")));
    config.export.rename = renames.collect();
    generate(config, INTERPOSED)
}

/// The structs that the guard mirrors, under names of their own.
pub fn mirrored() -> Outcome<String> {
    let mut config = plain();
    config.export.item_types = vec![ItemType::Constants, ItemType::Structs, ItemType::OpaqueItems];
    config.export.prefix = Some("guard_".into());
    config.export.include = [
        "IbvContextOps",
        "IbvCounters",
        "IbvFlow",
        "IbvMw",
        "IbvParentDomainInitAttr",
        "IbvRwqIndTable",
        "IbvSrqInitAttrEx",
        "IbvTd",
        "IbvXrcd",
        "Mlx5dvObj",
        "VerbsContextTail",
    ]
    .map(String::from)
    .into();
    generate(config, &[&["types", "child_types", "attr_types"], INTERPOSED].concat())
}

fn plain() -> Config {
    Config {
        language: Language::C,
        style: Style::Tag,
        documentation: false,
        documentation_style: DocumentationStyle::C,
        no_includes: true,
        usize_is_size_t: true,
        ..Config::default()
    }
}

fn generate(config: Config, sources: &[&str]) -> Outcome<String> {
    let abi = project().join("src/abi");
    let builder = sources.iter().fold(Builder::new().with_config(config), |builder, source| {
        builder.with_src(Path::new(&abi).join(source).with_extension("rs"))
    });
    let bindings = builder.generate().map_err(|error| format!("cbindgen: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).map_err(|error| format!("cbindgen: {error}"))
}
