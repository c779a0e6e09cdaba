//! What verbsguard knows and judges: rules, lifetimes, ledger, reports.
#![forbid(unsafe_code)]
