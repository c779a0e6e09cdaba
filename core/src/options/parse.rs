//! Reads option strings and option files. What is wrong is told, and the rest applies.

use std::path::Path;

use super::Options;
use super::keys::KEYS;

/// Files may include files; a file that includes itself ends here.
const MAX_INCLUDES: usize = 8;

impl Options {
    /// Reads sources one after the other; a later one overrides an earlier one. Also gives one line for each part
    /// that was not understood, without a prefix.
    pub fn parse(sources: &[&str]) -> (Options, Vec<String>) {
        let mut parser = Parser { options: Options::default(), complaints: Vec::new(), includes: 0 };
        for source in sources {
            parser.string(source);
        }
        (parser.options, parser.complaints)
    }
}

struct Parser {
    options: Options,
    complaints: Vec<String>,
    includes: usize,
}

impl Parser {
    fn string(&mut self, text: &str) {
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(|c: char| c == ':' || c.is_whitespace());
            if rest.is_empty() {
                return;
            }
            let (key, after) = rest.split_at(rest.find(['=', ':']).unwrap_or(rest.len()));
            let Some(after) = after.strip_prefix('=') else {
                self.complain(format!("option '{key}' has no value: write {key}=VALUE"));
                rest = after;
                continue;
            };
            match value(after) {
                Ok((value, after)) => {
                    self.pair(key.trim(), value);
                    rest = after;
                }
                Err(message) => return self.complain(format!("option '{key}': {message}")),
            }
        }
    }

    fn file(&mut self, path: &Path) {
        self.includes += 1;
        if self.includes > MAX_INCLUDES {
            return self.complain(format!("option 'include': more than {MAX_INCLUDES} files, {path:?} is left out"));
        }
        match std::fs::read_to_string(path) {
            Ok(text) => text.lines().for_each(|line| self.line(line.trim(), path)),
            Err(error) => self.complain(format!("option 'include': cannot read {path:?}: {error}")),
        }
    }

    fn line(&mut self, line: &str, path: &Path) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        match line.split_once('=') {
            Some((key, value)) => self.pair(key.trim(), unquoted(value.trim())),
            None => self.complain(format!("{path:?}: '{line}' has no value: write one KEY=VALUE a line")),
        }
    }

    fn pair(&mut self, name: &str, value: &str) {
        if name == "include" {
            return self.file(Path::new(value));
        }
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return self.complain(format!("there is no option '{name}' (help=1 lists them)"));
        };
        if let Err(message) = (key.set)(&mut self.options, value) {
            self.complain(format!("option '{name}': {message}"));
        }
    }

    fn complain(&mut self, message: String) {
        if !self.complaints.contains(&message) {
            self.complaints.push(message);
        }
    }
}

/// Splits a value from what follows it. A value in quotes may hold colons.
fn value(text: &str) -> Result<(&str, &str), &'static str> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        return Ok(text.split_at(text.find([':', '\n']).unwrap_or(text.len())));
    };
    let (value, after) = text[1..].split_once(quote).ok_or("the quote is not closed; what follows is ignored")?;
    if after.is_empty() || after.starts_with([':', '\n']) {
        Ok((value, after))
    } else {
        Err("there is something between the closing quote and the next ':'; what follows is ignored")
    }
}

fn unquoted(text: &str) -> &str {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}
