//! The shared library that stands between a program and rdma-core.
