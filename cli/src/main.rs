//! The command `verbsguard`.
fn main() {}
