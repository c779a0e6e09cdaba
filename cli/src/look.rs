//! How the command's text looks: widths and colours.

use verbsguard_core::report::fill;
use verbsguard_core::rules::Severity;

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// Prose does not fit into less.
const NARROWEST: usize = 40;

/// How text looks where it goes.
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether there may be escape sequences.
    pub colors: bool,
}

impl Look {
    /// For standard output, which is a terminal or not.
    pub fn of(terminal: bool) -> Look {
        let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = terminal_size::terminal_size().map_or(WIDEST, |(width, _)| width.0.into());
        Look { width: width.clamp(NARROWEST, WIDEST), colors: terminal && !declined }
    }

    /// Stands out.
    pub fn bold(&self, text: &str) -> String {
        if self.colors { format!("\x1b[1m{text}\x1b[0m") } else { text.into() }
    }

    /// A severity in its colour.
    pub fn severity(&self, severity: Severity) -> String {
        match severity {
            _ if !self.colors => severity.to_string(),
            Severity::Error => format!("\x1b[1;31m{severity}\x1b[0m"),
            Severity::Warning => format!("\x1b[1;35m{severity}\x1b[0m"),
            Severity::Note => severity.to_string(),
        }
    }

    /// What is well.
    pub fn good(&self, text: &str) -> String {
        if self.colors { format!("\x1b[32m{text}\x1b[0m") } else { text.into() }
    }

    /// What is not.
    pub fn bad(&self, text: &str) -> String {
        if self.colors { format!("\x1b[1;31m{text}\x1b[0m") } else { text.into() }
    }

    /// A headline and indented prose.
    pub fn paragraph(&self, headline: &str, text: &str) -> String {
        format!("\n{}\n{}", self.bold(headline), indent(&fill(text, self.width.saturating_sub(4))))
    }
}

/// Every line set in.
pub fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
