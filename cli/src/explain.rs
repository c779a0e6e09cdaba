//! `verbsguard explain`: a rule in words.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use verbsguard_core::rules::{Rule, Section, Text};

use crate::look::{Look, indent};

/// Says what a rule means: when it fires, why that matters, the manual page's words, an example, the fix.
#[derive(Debug, Args)]
pub struct Explain {
    /// A rule's id, as reports print it
    #[arg(required_unless_present = "list", value_name = "RULE")]
    rules: Vec<Rule>,
    /// List all rules
    #[arg(long, conflicts_with = "rules")]
    list: bool,
}

impl Explain {
    /// Prints what was asked for.
    pub fn run(&self) -> io::Result<()> {
        let out = io::stdout();
        let look = Look::of(out.is_terminal());
        let text = if self.list {
            list(&look)
        } else {
            self.rules.iter().map(|rule| explain(rule.text(), &look)).collect::<Vec<_>>().join("\n")
        };
        out.lock().write_all(text.as_bytes())
    }
}

fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

fn list(look: &Look) -> String {
    let mut text = String::new();
    for section in Section::ALL {
        text.push_str(&format!("{}\n", look.bold(section.title())));
        for rule in Rule::ALL.iter().filter(|rule| rule.section() == section) {
            // Padded before it is coloured: escape sequences take no room.
            let pad = " ".repeat("warning".len() - rule.severity().word().len());
            text.push_str(&format!("  {}{pad}  {rule}\n", look.severity(rule.severity())));
        }
    }
    text.push_str("`verbsguard explain RULE` tells what one means.\n");
    text
}

fn explain(text: &Text, look: &Look) -> String {
    let rule = text.rule;
    let mut out = format!("{}: {}\n", look.bold(rule.id()), look.severity(rule.severity()));
    out.push_str(&look.paragraph("What", text.what));
    out.push_str(&look.paragraph("Why it matters", text.why));
    out.push_str(&look.paragraph("In guard mode", &sentence(&text.guard.words())));
    match text.words {
        Some(words) => out.push_str(&look.paragraph(&format!("{} says", rule.page()), &format!("\"{words}\""))),
        None => out.push_str(&look.paragraph("Manual page", rule.page())),
    }
    out.push_str(&format!("\n{}\n{}", look.bold("Example"), indent(text.example)));
    out.push_str(&look.paragraph("To mend it", text.fix));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look { width: 60, colors: false };

    #[test]
    fn everything_about_a_rule_is_there() {
        let text = explain(Rule::PdReleasedTwice.text(), &PLAIN);
        for part in
            ["pd-released-twice: error\n", "Refused with EINVAL.", "ibv_import_pd(3) says", "ibv_unimport_pd(pd);"]
        {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn prose_keeps_to_the_width() {
        for rule in Rule::ALL {
            let text = explain(rule.text(), &PLAIN);
            let code: Vec<_> = rule.text().example.lines().map(str::trim).collect();
            let mut prose = text.lines().filter(|line| !code.contains(&line.trim()));
            assert!(prose.all(|line| line.chars().count() <= 60), "{text}");
        }
    }

    #[test]
    fn the_list_names_every_rule() {
        let text = list(&PLAIN);
        assert!(Rule::ALL.iter().all(|rule| text.contains(&format!("  {rule}\n"))));
    }

    #[test]
    fn colours_are_for_terminals() {
        assert!(explain(Rule::WrongKind.text(), &Look { width: 80, colors: true }).contains("\x1b[1;31merror\x1b[0m"));
    }
}
