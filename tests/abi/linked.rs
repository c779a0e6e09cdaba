//! What a shared library promises to the loader, by readelf.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use verbsguard_tests::{Outcome, output_of};

fn readelf(options: &[&str], library: &Path) -> Outcome<String> {
    output_of(Command::new("readelf").args(options).arg(library).env("LC_ALL", "C"))
}

fn symbols(library: &Path) -> Outcome<Vec<Vec<String>>> {
    let text = readelf(&["--wide", "--dyn-syms"], library)?;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    Ok(text.lines().map(words).filter(|words| words.len() >= 8).collect())
}

/// The functions and data that it defines, as `name@@NODE`; the nodes themselves are left out.
pub fn defined(library: &Path) -> Outcome<BTreeSet<String>> {
    let real = |words: &&Vec<String>| words[6] != "UND" && words[6] != "ABS" && words[6] != "Ndx";
    Ok(symbols(library)?.iter().filter(real).map(|words| words[7].clone()).collect())
}

/// Everything that a committed list fixes.
pub fn describe(library: &Path) -> Outcome<String> {
    let mut text = String::new();
    for line in readelf(&["--wide", "--dynamic"], library)?.lines() {
        let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
        match (bracketed, line.split_once("Flags: ")) {
            (Some(name), _) if line.contains("(SONAME)") => drop(writeln!(text, "soname {name}")),
            (Some(name), _) if line.contains("(NEEDED)") => drop(writeln!(text, "needed {name}")),
            (_, Some((_, flags))) => drop(writeln!(text, "flags {}", flags.trim())),
            _ => {}
        }
    }
    if let Some(glibc) = newest_glibc(library)? {
        let _ = writeln!(text, "needs GLIBC_2.{glibc}");
    }
    for symbol in defined(library)? {
        let _ = writeln!(text, "defines {symbol}");
    }
    for words in symbols(library)?.iter().filter(|words| words[6] == "UND" && !words[7].contains("GLIBC")) {
        // The compiler's own weak references are in every library.
        if !words[7].starts_with("_ITM_") && !words[7].starts_with("__") {
            let _ = writeln!(text, "refers to {} ({})", words[7], words[4].to_lowercase());
        }
    }
    Ok(text)
}

fn newest_glibc(library: &Path) -> Outcome<Option<u32>> {
    let text = readelf(&["--wide", "--version-info"], library)?;
    let minor = |word: &str| word.strip_prefix("GLIBC_2.")?.split('.').next()?.parse().ok();
    Ok(text.split_whitespace().filter_map(minor).max())
}
