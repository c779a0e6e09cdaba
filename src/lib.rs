//! The shared library that stands between a program and rdma-core.

pub mod log;
pub mod stacks;
