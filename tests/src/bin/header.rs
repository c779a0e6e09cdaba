//! Writes include/verbsguard.h.
fn main() {}
