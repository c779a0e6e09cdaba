//! What verbsguard knows and judges: rules, lifetimes, ledger, reports.
#![forbid(unsafe_code)]

pub mod finding;
pub mod ledger;
pub mod options;
pub mod report;
pub mod rules;
pub mod site;
