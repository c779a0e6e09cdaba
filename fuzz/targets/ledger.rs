#![no_main]
//! Reads hostile ledger files.

#[path = "../reader.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reader::read(bytes));
