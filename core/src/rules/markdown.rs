//! docs/rules.md, made from the rules.

use super::{Rule, Section, Text};

const HEAD: &str = "\
<!-- Made from core/src/rules by core/tests/generated.rs. -->

# The rules

Each finding names its rule by an id that never changes its meaning. `verbsguard explain ID` prints what stands here.

- **error**: certainly wrong by the manual page, or unsafe. Only errors change an exit status.
- **warning**: legal, but nearly always a mistake.
- **note**: information, printed with `verbose=1`, always in JSON.

\"In guard mode\" says what the default `mode=guard` does with the call; `observe` forwards every call, and `strict`
refuses every call with an error. `severity=RULE=...` and `disable=RULE` change what a rule says.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for section in Section::ALL {
        page.push_str(&format!("\n## {}\n\n| rule | severity | in guard mode |\n|---|---|---|\n", section.title()));
        let rules = || Rule::ALL.iter().filter(move |rule| rule.section() == section);
        for rule in rules() {
            let guard = rule.text().guard.words();
            page.push_str(&format!("| [`{rule}`](#{rule}) | {} | {guard} |\n", rule.severity()));
        }
        rules().for_each(|rule| page.push_str(&entry(rule.text())));
    }
    page
}

fn entry(text: &Text) -> String {
    let rule = text.rule;
    let mut entry = format!("\n### {rule}\n\n{}\n\n{}\n", fill(text.what), fill(text.why));
    match text.words {
        Some(words) => entry.push_str(&format!("\n{}\n", fill(&format!("{}: \"{words}\"", rule.page())))),
        None => entry.push_str(&format!("\nSee {}.\n", rule.page())),
    }
    entry.push_str(&format!("\n```c\n{}\n```\n\n{}\n", text.example, fill(&format!("To mend it: {}", text.fix))));
    entry
}

fn fill(text: &str) -> String {
    crate::report::fill(text, 120)
}
