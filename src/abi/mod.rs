//! Everything that speaks C: the interposed functions, one file a family, under rdma-core's own names and signatures.
//!
//! To add a function: write it here as it stands in the real header, name its version node (`readelf --dyn-syms` of
//! the real library shows it), and add it to `verbsguard.map` and to `core/src/coverage.rs`. Each takes
//! [`crate::call::run`]'s one way. Inline verbs call pointers in the context: those are in `inline`.

pub mod attr_types;
pub mod child_types;
pub mod context;
pub mod context_children;
pub mod control;
pub mod inline;
pub mod mr;
pub mod pd;
pub mod pd_children;
pub mod types;
pub mod umem;
