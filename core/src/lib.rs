//! What verbsguard knows and judges: rules, lifetimes, ledger, reports.
#![forbid(unsafe_code)]

pub mod check;
pub mod coverage;
pub mod describe;
pub mod finding;
pub mod ledger;
pub mod options;
pub mod report;
pub mod rules;
pub mod site;
pub mod symbols;
pub mod track;
