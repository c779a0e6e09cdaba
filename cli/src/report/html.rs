//! The merged report as one page that needs nothing else.

use std::fmt::{self, Display, Write};

use super::merge::{Group, Key, Merged};
use verbsguard_core::rules::Severity;

const HEAD: &str = "\
<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\"/>
<meta name=\"viewport\" content=\"width=device-width\"/>
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>
<title>verbsguard report</title>
<style>
body { font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; }
td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ddd; }
td.number { text-align: right; }
details { border: 1px solid #ddd; border-left: .4em solid #999; margin: .6em 0; padding: .4em .8em; }
details.error { border-left-color: #c00; }
details.warning { border-left-color: #d80; }
pre { background: #f6f6f6; padding: .6em; overflow-x: auto; }
summary { cursor: pointer; }
</style>
</head>
<body>
";

/// The whole page.
pub fn render(merged: &Merged) -> String {
    let mut page = String::from(HEAD);
    // Writing to a string does not fail.
    let _ = body(merged, &mut page);
    page + "</body>\n</html>\n"
}

fn body(merged: &Merged, out: &mut String) -> fmt::Result {
    writeln!(out, "<h1>verbsguard report</h1>")?;
    writeln!(out, "<p>{}</p>", Escaped(&merged.origin()))?;
    let (errors, warnings) = (merged.count(Severity::Error), merged.count(Severity::Warning));
    writeln!(out, "<p><b id=\"errors\">{errors}</b> errors, <b id=\"warnings\">{warnings}</b> warnings</p>")?;
    section(out, "Findings, by place", merged.findings.iter())?;
    section(out, "Leaks, by the place where the objects were made", merged.leaks.iter())
}

fn section<'a>(
    out: &mut String,
    title: &str,
    groups: impl Iterator<Item = (&'a Key, &'a Group)> + Clone,
) -> fmt::Result {
    if groups.clone().next().is_none() {
        return Ok(());
    }
    writeln!(out, "<h2>{}</h2>", Escaped(title))?;
    groups.into_iter().try_for_each(|(key, group)| entry(out, key, group))
}

fn entry(out: &mut String, key: &Key, group: &Group) -> fmt::Result {
    let severity = key.severity.0.word();
    let open = if key.severity.0 == Severity::Note { "" } else { " open=\"\"" };
    writeln!(out, "<details class=\"{severity}\"{open}>")?;
    let object = if key.object.is_empty() { String::new() } else { format!(" of a {}", key.object) };
    let title = format!("{} × {severity}: {}{object}", group.count, key.rule.id());
    writeln!(out, "<summary><b>{}</b> {}</summary>", Escaped(&title), Escaped(&group.message))?;
    if !group.frames.is_empty() {
        let frames = group.frames.iter().enumerate().map(|(number, frame)| format!("#{number} {frame}"));
        writeln!(out, "<pre>{}</pre>", Escaped(&frames.collect::<Vec<_>>().join("\n")))?;
    }
    writeln!(out, "<p>{}</p>", Escaped(key.rule.text().what))?;
    writeln!(out, "<p>To mend it: {}</p>", Escaped(key.rule.text().fix))?;
    writeln!(out, "<table>\n<tr><th>process</th><th>pid</th><th>host</th><th>times</th></tr>")?;
    for (who, count) in &group.processes {
        let (comm, host) = (Escaped(&who.comm), Escaped(&who.host));
        writeln!(out, "<tr><td>{comm}</td><td>{}</td><td>{host}</td><td class=\"number\">{count}</td></tr>", who.pid)?;
    }
    writeln!(out, "</table>\n</details>")
}

/// Text that is nothing but text in a page: command names and file names are whatever somebody chose.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            '\n' => f.write_char(c),
            c if c.is_control() => f.write_char('\u{fffd}'),
            c => f.write_char(c),
        })
    }
}
