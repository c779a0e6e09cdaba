//! C headers made from the guard's Rust by cbindgen: the one that users include, and two for the ABI tests.
