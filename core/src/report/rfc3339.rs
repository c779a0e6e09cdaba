//! Wall-clock times as RFC 3339 with nanoseconds, for serde.

use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serializer};

/// Writes `2026-01-31T12:00:00.000000000Z`.
pub fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_nanos(*time))
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_rfc3339(&text).map_err(serde::de::Error::custom)
}
