//! Processes that are killed at any moment: `tests-c/soak/kills.c`, and what must be true when it is over.

use std::collections::HashMap;

use serde_json::Value;

use super::play::{Stage, is_empty};
use crate::{Outcome, findings};

/// What the program prints at its end: "ledger pd 110 umem 95" is `("ledger", "pd") → 110`.
type Account<'a> = HashMap<(&'a str, &'a str), u64>;

/// Lets so many processes be killed. Answers one line that sums it up.
pub fn kills(stage: &Stage, seed: u64, kills: usize, name: &str) -> Outcome<String> {
    let folder = stage.folder(name)?;
    let mut command = stage.command(&stage.killed, &folder, 60 + kills / 10)?;
    let done = command.args([seed.to_string(), kills.to_string()]).output();
    let done = done.map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let noise = String::from_utf8_lossy(&done.stderr);
    judge(&said, &findings::read(&folder.join("log"))?)
        .map_err(|why| format!("kills of seed {seed} ({}): {why}\n{said}{noise}", done.status))?;
    is_empty(&folder.join("ledger"))?;
    Ok(said.lines().filter(|line| !line.starts_with("keeper")).collect::<Vec<_>>().join("; "))
}

/// Judges what the program printed, by what the guards told.
pub fn judge(said: &str, told: &[Value]) -> Outcome {
    if !said.lines().any(|line| line.starts_with("keeper ")) {
        return Err("did not come to the end".into());
    }
    let account = account(said);
    judge_account(&account)?;
    judge_findings(told, count(&account, "ledger", "pd") + count(&account, "ledger", "umem"))
}

fn account(said: &str) -> Account<'_> {
    let mut account = Account::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        for pair in words.get(1..).unwrap_or_default().chunks_exact(2) {
            account.extend(pair[1].parse().ok().map(|number| ((words[0], pair[0]), number)));
        }
    }
    account
}

fn count(account: &Account<'_>, of: &str, what: &str) -> u64 {
    account.get(&(of, what)).copied().unwrap_or(u64::MAX / 8)
}

/// A process that is killed inside a call may leave the ledger with one event less than the kernel has seen.
fn judge_account(account: &Account<'_>) -> Outcome {
    for kind in ["pd", "umem"] {
        let [kernel, live, dying] = ["kernel", "ledger", "dying"].map(|of| count(account, of, kind));
        let making = count(account, "killed-in", &format!("making-{kind}"));
        let ending = count(account, "killed-in", &format!("ending-{kind}"));
        if dying > ending {
            return Err(format!("{dying} {kind}s are dying, but {ending} processes were killed while they ended one"));
        }
        if kernel < live || kernel > live + dying + making {
            return Err(format!(
                "the kernel counts {kernel} {kind}s, the ledger {live} and {dying} that may live; {making} may be unseen"
            ));
        }
    }
    Ok(())
}

/// All that was done is legal, so only the last holder of the device file speaks: of what the dead have left.
fn judge_findings(told: &[Value], orphans: u64) -> Outcome {
    let mut counted = 0;
    for line in told.iter().filter(|line| line["kind"] == "finding" && line["severity"] != "note") {
        if line["rule"] != "object-orphaned" || line["comm"] != "keeper" {
            return Err(format!("not expected: {line}"));
        }
        let message = line["message"].as_str().unwrap_or_default();
        counted += message.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(1u64);
    }
    if counted == orphans {
        Ok(())
    } else {
        Err(format!("{counted} objects were told as orphaned instead of {orphans}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "killed-in making-pd 2 making-umem 0 ending-pd 1 ending-umem 0\nkernel pd 10 umem 4\n\
                        ledger pd 8 umem 4\ndying pd 1 umem 0\n";

    #[test]
    fn the_account_may_differ_by_what_was_under_way() {
        assert_eq!(judge_account(&account(SAID)), Ok(()));
        for (right, wrong) in [
            ("kernel pd 10", "kernel pd 12"),
            ("kernel pd 10", "kernel pd 7"),
            ("umem 4\nledger", "umem 5\nledger"),
            ("dying pd 1", "dying pd 2"),
            ("dying pd 1", ""),
        ] {
            assert!(SAID.contains(right));
            assert!(judge_account(&account(&SAID.replace(right, wrong))).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_the_keeper_speaks_and_of_every_orphan() {
        let line = |rule: &str, comm: &str, message: &str| serde_json::json!({"kind": "finding", "severity": "error", "rule": rule, "comm": comm, "message": message});
        let two = line("object-orphaned", "keeper", "2 pds allocated at one place");
        let one = line("object-orphaned", "keeper", "umem 0x1");
        assert_eq!(judge_findings(&[two.clone(), one.clone()], 3), Ok(()));
        assert!(judge_findings(&[two.clone(), one], 2).is_err());
        assert!(judge_findings(&[line("object-orphaned", "worker", "pd")], 1).is_err());
        assert!(judge_findings(&[two, line("umem-blob-stale", "keeper", "umem")], 3).is_err());
    }
}
