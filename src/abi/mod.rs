//! Everything that speaks C: the interposed functions, one file a family, under rdma-core's own names and signatures.
//!
//! To add a function: write it here as it stands in the real header, name its version node (`readelf --dyn-syms` of
//! the real library shows it), and add it to `verbsguard.map`. Each takes [`crate::call::run`]'s one way.

pub mod children;
pub mod context;
pub mod control;
pub mod pd;
pub mod types;
pub mod umem;
