//! C made from the guard's Rust by cbindgen: the header that users include, and two for the ABI tests.

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, Style};

use crate::{Outcome, project};

/// Where the users' header lies.
pub const PUBLIC: &str = "include/verbsguard.h";

/// The rdma-core types that the interposed functions name, as Rust and as C call them.
const RDMA_CORE_TYPES: &[(&str, &str)] = &[
    ("IbvBuf", "ibv_buf"),
    ("IbvContext", "ibv_context"),
    ("IbvDevice", "ibv_device"),
    ("IbvMr", "ibv_mr"),
    ("IbvMrInitAttr", "ibv_mr_init_attr"),
    ("IbvPd", "ibv_pd"),
    ("Mlx5dvContextAttr", "mlx5dv_context_attr"),
    ("Mlx5dvDevxUmem", "mlx5dv_devx_umem"),
    ("Mlx5dvDevxUmemIn", "mlx5dv_devx_umem_in"),
    ("Mlx5dvExportSizes", "mlx5dv_export_sizes"),
];

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
    generate(config, &["children", "context", "pd", "umem"])
}

/// The structs that the guard mirrors, under names of their own.
pub fn mirrored() -> Outcome<String> {
    let mut config = plain();
    config.export.item_types = vec![ItemType::Constants, ItemType::Structs, ItemType::OpaqueItems];
    config.export.prefix = Some("guard_".into());
    config.export.include = ["VerbsContextTail", "IbvParentDomainInitAttr", "Mlx5dvObj"].map(String::from).into();
    generate(config, &["types", "children", "context", "pd", "umem"])
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
