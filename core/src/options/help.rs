//! The table of keys for people: `help=1` and the manual page.

use super::KEYS;

/// What `help=1` prints.
pub fn help() -> String {
    let mut text = String::from("verbsguard: VERBSGUARD_OPTIONS=key=value:key=value (the default value first)\n");
    for key in KEYS {
        text.push_str(&format!("  {}={}\n", key.name, key.values));
        for line in textwrap::wrap(key.help, 96) {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}
