//! The border of the ledger: device-file identity, shared files, locks.
//!
//! What is written and what it means is in `verbsguard_core::ledger`, which is safe; here is what needs the kernel.

pub mod identity;
pub mod strangers;
mod sys;
