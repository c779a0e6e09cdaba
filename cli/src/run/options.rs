//! What `run` tells the guard through VERBSGUARD_OPTIONS.

use std::env;
use std::path::{Path, PathBuf, absolute};

use verbsguard_core::options::{Ledger, Options};

/// The exit status of a guarded command with error findings, unless the user says otherwise.
const EXITCODE: &str = "exitcode=23";

/// The user's own VERBSGUARD_OPTIONS, and what the command line adds to them. Later ones override earlier ones.
pub fn assemble(given: &[String], json: Option<&Path>) -> Result<String, String> {
    let mut parts = vec![EXITCODE.to_owned()];
    match env::var("VERBSGUARD_OPTIONS") {
        Ok(options) if !options.is_empty() => parts.push(options),
        Err(env::VarError::NotUnicode(_)) => return Err("VERBSGUARD_OPTIONS is not valid UTF-8".into()),
        _ => {}
    }
    for option in given {
        parts.push(checked(option)?);
    }
    if let Some(file) = json {
        let file = absolute(file).map_err(|error| format!("--json {}: {error}", file.display()))?;
        let file = file.to_str().ok_or_else(|| format!("--json {}: the name is not valid UTF-8", file.display()))?;
        parts.push(format!("log={}", quoted(file)?));
        parts.push("format=json".into());
    }
    Ok(parts.join(":"))
}

/// The ledger's folder, by these options.
pub fn ledger(options: &str) -> Option<PathBuf> {
    match Options::parse(&[options]).0.ledger {
        Ledger::Auto => Some(verbsguard_ledger::auto()),
        Ledger::Off => None,
        Ledger::Dir(folder) => absolute(folder).ok(),
    }
}

fn checked(option: &str) -> Result<String, String> {
    let (key, value) = option.split_once('=').ok_or_else(|| format!("-o {option}: write KEY=VALUE"))?;
    let option = format!("{key}={}", quoted(value)?);
    match Options::parse(&[&option]).1.into_iter().next() {
        Some(complaint) => Err(format!("-o: {complaint}")),
        None => Ok(option),
    }
}

/// A value that holds a colon or a line's end is put in quotes, unless the user did so.
fn quoted(value: &str) -> Result<String, String> {
    let has_quotes = ['"', '\''].iter().any(|&quote| {
        value.len() > 1 && value.starts_with(quote) && value.find(quote) != value.rfind(quote) && value.ends_with(quote)
    });
    if has_quotes || !value.contains([':', '\n']) {
        return Ok(value.to_owned());
    }
    match ['"', '\''].into_iter().find(|&quote| !value.contains(quote)) {
        Some(quote) => Ok(format!("{quote}{value}{quote}")),
        None => Err(format!("the value {value} holds a colon and both kinds of quotes; leave one of them out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_colons_are_quoted_once() {
        assert_eq!(quoted("plain").unwrap(), "plain");
        assert_eq!(quoted("a:b").unwrap(), "\"a:b\"");
        assert_eq!(quoted("a\":b").unwrap(), "'a\":b'");
        assert_eq!(quoted("'a:b'").unwrap(), "'a:b'");
        assert!(quoted("a:'\"").is_err());
    }

    #[test]
    fn what_the_guard_would_not_understand_is_refused() {
        assert_eq!(checked("mode=strict").unwrap(), "mode=strict");
        assert!(checked("mode=loud").unwrap_err().contains("mode"));
        assert!(checked("nonsense=1").unwrap_err().contains("nonsense"));
        assert!(checked("mode").unwrap_err().contains("KEY=VALUE"));
    }

    #[test]
    fn a_log_with_a_colon_arrives_whole() {
        let text = assemble(&["exitcode=5".into()], Some(Path::new("/tmp/a:b.jsonl"))).unwrap();
        let (options, complaints) = Options::parse(&[&text]);
        assert_eq!((options.exitcode, complaints.len()), (5, 0));
        assert_eq!(options.log, verbsguard_core::options::Log::Path("/tmp/a:b.jsonl".into()));
    }
}
