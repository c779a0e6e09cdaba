//! The Test Anything Protocol, as `tests-kernel/truth` prints it.

use libtest_mimic::{Failed, Trial};

/// One trial for each case in `text`. The line after a failed one says why.
pub fn trials(text: &str, prefix: &str) -> Vec<Trial> {
    let lines: Vec<&str> = text.lines().collect();
    let next = |at: usize| lines.get(at + 1).copied().unwrap_or_default();
    lines.iter().enumerate().filter_map(|(at, line)| trial(line, next(at), prefix)).collect()
}

fn trial(line: &str, next: &str, prefix: &str) -> Option<Trial> {
    let (is_good, rest) = match line.strip_prefix("not ") {
        Some(rest) => (false, rest),
        None => (true, line),
    };
    let (_, title) = rest.strip_prefix("ok ")?.split_once(" - ")?;
    let (title, skipped) = title.split_once(" # SKIP ").map_or((title, None), |(title, why)| (title, Some(why)));
    let why = next.to_owned();
    let trial = Trial::test(format!("{prefix}{title}"), move || if is_good { Ok(()) } else { Err(Failed::from(why)) });
    Some(match skipped {
        Some(why) => trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true),
        None => trial,
    })
}
