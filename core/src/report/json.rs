//! JSON Lines.

use serde::Serialize;

use super::Summary;
use crate::finding::Finding;

/// The version of the lines; every line holds it.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Line<'a, T> {
    schema: u32,
    kind: &'a str,
    #[serde(flatten)]
    body: &'a T,
}

pub(super) fn finding(finding: &Finding) -> String {
    line("finding", finding)
}

pub(super) fn summary(summary: &Summary) -> String {
    line("summary", summary)
}

fn line<T: Serialize>(kind: &str, body: &T) -> String {
    // Serialising strings, numbers and maps with string keys into memory does not fail.
    let mut text = serde_json::to_string(&Line { schema: SCHEMA, kind, body }).unwrap_or_default();
    text.push('\n');
    text
}
