//! The first comment of a C program: what it expects. The grammar stands in `tests-c/README.md`.

use std::str::FromStr;

use verbsguard_core::rules::Rule;

/// One expected finding. What is `None` is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// "error", "warning" or "note".
    pub severity: String,
    /// The rule's id.
    pub rule: String,
    /// The function it is found in.
    pub function: Option<String>,
    /// The argument it is about.
    pub argument: Option<String>,
    /// "forwarded", "refused" or "aborted".
    pub action: Option<String>,
    /// The command name of the process that it is found in.
    pub by: Option<String>,
    /// The command name of another process that it names.
    pub of: Option<String>,
    /// The part that this other process has: "owner", "importer", "heir".
    pub role: Option<String>,
    /// A function that stands in one of its stacks, besides the present one.
    pub at: Option<String>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Where the guard's findings go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Log {
    /// A JSON file that the runner reads.
    #[default]
    Json,
    /// Text, on the program's standard error.
    Stderr,
    /// Text, in a file that must not come to be.
    File,
}

/// All that a program's first comment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The findings, each once.
    pub findings: Vec<Expected>,
    /// `expect:` was said at all.
    pub says: bool,
    /// Notes that must not be there.
    pub absent_notes: Vec<String>,
    /// Rules that the program comes close to.
    pub nearly: Vec<String>,
    /// The least rdma-core.
    pub needs: u32,
    /// The rdma-core from which on the program has nothing to show.
    pub below: Option<u32>,
    /// Options of the guard.
    pub options: Option<String>,
    /// How the guarded program ends, where it is not what follows from the findings.
    pub exit: Option<End>,
    /// Why unguarded and guarded runs are not compared.
    pub no_parity: Option<String>,
    /// Why it has nothing to show on the real kernel.
    pub no_lab: Option<String>,
    /// Where the findings go.
    pub log: Log,
    /// What must be in the log.
    pub shows: Vec<String>,
    /// More arguments of `verbsguard run`.
    pub run: Vec<String>,
    /// Environment of the run.
    pub env: Vec<(String, String)>,
    /// With how many processes it is played; empty where it says so itself.
    pub actors: Vec<String>,
}

const ERROR_STATUS: i32 = 23;

impl Expectation {
    /// Reads the comment at the head of a program's source.
    pub fn parse(source: &str) -> Result<Self, String> {
        let comment = source
            .strip_prefix("/*")
            .and_then(|rest| rest.split_once("*/"))
            .map(|(comment, _)| comment)
            .ok_or("does not start with a comment that says what it expects")?;
        let mut expectation = Expectation { needs: 44, ..Expectation::default() };
        for line in comment.lines() {
            let line = line.trim().trim_start_matches('*').trim();
            if let Some((key, value)) = line.split_once(": ")
                && key.bytes().all(|byte| byte.is_ascii_lowercase())
            {
                expectation.take(key, value.trim()).map_err(|error| format!("'{line}': {error}"))?;
            }
        }
        if !expectation.says && expectation.log == Log::Json {
            return Err("has no 'expect:' line".into());
        }
        Ok(expectation)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "expect" => return self.take_expected(value),
            "nearly" => self.nearly = value.split(", ").map(known_rule).collect::<Result<_, _>>()?,
            "needs" => self.needs = value.parse().map_err(|_| "not a version")?,
            "below" => self.below = Some(value.parse().map_err(|_| "not a version")?),
            "options" => self.options = Some(value.into()),
            "exit" => self.exit = Some(value.parse()?),
            "parity" => {
                let why = value.strip_prefix("no, ").ok_or("say 'no, WHY'")?;
                self.no_parity = Some(why.into());
            }
            "lab" => {
                let why = value.strip_prefix("no, ").ok_or("say 'no, WHY'")?;
                self.no_lab = Some(why.into());
            }
            "log" => self.log = if value == "stderr" { Log::Stderr } else { Log::File },
            "shows" => self.shows.push(value.into()),
            "run" => self.run = value.split_whitespace().map(str::to_owned).collect(),
            "actors" => self.actors = value.split(", ").map(str::to_owned).collect(),
            "env" => {
                let (name, value) = value.split_once('=').ok_or("not KEY=VALUE")?;
                self.env.push((name.into(), value.into()));
            }
            // Free text may hold a colon.
            _ => {}
        }
        Ok(())
    }

    fn take_expected(&mut self, value: &str) -> Result<(), String> {
        self.says = true;
        if let Some(rule) = value.strip_prefix("no note ") {
            self.absent_notes.push(known_rule(rule)?);
        } else if value != "none" {
            self.findings.push(value.parse()?);
        }
        Ok(())
    }

    /// Why the program does not run on this rdma-core.
    pub fn unfit(&self, version: u32) -> Option<String> {
        match self.below {
            _ if version < self.needs => Some(format!("needs rdma-core {}", self.needs)),
            Some(below) if version >= below => Some(format!("for rdma-core before {below}")),
            _ => None,
        }
    }

    /// How the guarded program must end.
    pub fn end(&self) -> End {
        let error = self.findings.iter().any(|finding| finding.severity == "error");
        self.exit.clone().unwrap_or(End::Status(if error { ERROR_STATUS } else { 0 }))
    }
}

fn known_rule(id: &str) -> Result<String, String> {
    let known = Rule::ALL.iter().any(|rule| rule.id() == id);
    if known { Ok(id.into()) } else { Err(format!("no rule '{id}'")) }
}

impl FromStr for Expected {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().ok_or("ends too early");
        let severity = next()?.to_owned();
        if !["error", "warning", "note"].contains(&severity.as_str()) {
            return Err(format!("no severity '{severity}'"));
        }
        let rule = known_rule(next()?)?;
        let mut expected = Expected { severity, rule, ..Expected::default() };
        while let Some(word) = words.next() {
            let argument = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
            match word {
                "in" => expected.function = Some(words.next().ok_or("in which function?")?.into()),
                "by" => expected.by = Some(words.next().ok_or("by whom?")?.into()),
                "of" => expected.of = Some(words.next().ok_or("of whom?")?.into()),
                "as" => expected.role = Some(words.next().ok_or("as what?")?.into()),
                "at" => expected.at = Some(words.next().ok_or("at which function?")?.into()),
                "forwarded" | "refused" | "aborted" => expected.action = Some(word.into()),
                _ => expected.argument = Some(argument.ok_or_else(|| format!("what is '{word}'?"))?.into()),
            }
        }
        Ok(expected)
    }
}

impl FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "SIGABRT" => End::Signal(6),
            "SIGKILL" => End::Signal(9),
            "SIGTRAP" => End::Signal(5),
            _ => End::Status(text.parse().map_err(|_| format!("no status or known signal '{text}'"))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_says_what_is_expected() {
        let source = "/*\n * Twice: once too often.\n *\n * needs: 63\n * options: mode=strict\n\
                      * expect: error pd-released-twice in ibv_unimport_pd (pd) refused\n * nearly: wrong-kind\n\
                      * parity: no, it would crash\n */\nint main;";
        let read = Expectation::parse(source).unwrap();
        assert_eq!(read.needs, 63);
        assert_eq!(read.options.as_deref(), Some("mode=strict"));
        assert_eq!(read.nearly, ["wrong-kind"]);
        assert_eq!(read.no_parity.as_deref(), Some("it would crash"));
        assert_eq!(read.end(), End::Status(23));
        let finding = &read.findings[0];
        assert_eq!((finding.severity.as_str(), finding.rule.as_str()), ("error", "pd-released-twice"));
        assert_eq!(finding.function.as_deref(), Some("ibv_unimport_pd"));
        assert_eq!(finding.argument.as_deref(), Some("pd"));
        assert_eq!(finding.action.as_deref(), Some("refused"));
    }

    #[test]
    fn silence_is_an_expectation_and_nothing_is_not() {
        assert_eq!(Expectation::parse("/* expect: none */").unwrap().end(), End::Status(0));
        assert!(Expectation::parse("/* text */").is_err());
        assert!(Expectation::parse("int main;").is_err());
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        for line in [
            "expect: error no-such-rule",
            "expect: fatal wrong-kind",
            "expect: error wrong-kind perhaps",
            "nearly: no-such-rule",
            "parity: no",
            "exit: SIGWHAT",
            "needs: new",
        ] {
            assert!(Expectation::parse(&format!("/*\n * {line}\n * expect: none\n */")).is_err(), "{line}");
        }
    }
}
