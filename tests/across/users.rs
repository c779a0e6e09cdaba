//! Processes of two users that share a device file: with a ledger of their group's they know each other; with ledgers of
//! their own each knows itself, and claims nothing about the other.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::Trial;
use verbsguard_tests::expect::Expectation;
use verbsguard_tests::{Outcome, findings, run};

use crate::{Bench, is_root, trial_or};

/// As in `tests-c/ledger/two_users.c`.
const NOBODY: u32 = 65534;

const TOGETHER: &str = "/*
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd by A of B as importer
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded by B of A at deallocs
 * expect: note left-to-others in exit by A of B as importer
 */";

const APART: &str = "/*
 * expect: note object-orphaned in exit by A
 * expect: no note left-to-others
 * expect: no note pd-destroyed-while-shared
 * shows: unguarded processes may hold one
 */";

pub fn trials(bench: &Arc<Bench>) -> Outcome<Vec<Trial>> {
    let program = bench.compile("ledger/two_users.c")?;
    let why = (!is_root()).then_some("only root can become another user");
    let trial = |name: &'static str, is_shared: bool, expected: &'static str| {
        let program = program.clone();
        trial_or(why, format!("users::{name}"), move || holds(&program, name, is_shared, expected))
    };
    Ok(vec![trial("share_a_ledger", true, TOGETHER), trial("have_ledgers_of_their_own", false, APART)])
}

fn holds(program: &Path, name: &str, is_shared: bool, expected: &str) -> Outcome {
    // Where the other user gets to, too.
    let folder = Path::new("/dev/shm").join(format!("verbsguard-test-{}-{name}", std::process::id()));
    let made = prepare(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()));
    let result = made.and_then(|log| play(program, &folder, is_shared, &log, &Expectation::parse(expected)?));
    let _ = fs::remove_dir_all(&folder);
    result
}

/// A ledger directory of the other user's group, and a log that both can write.
fn prepare(folder: &Path) -> std::io::Result<PathBuf> {
    let (ledger, log) = (folder.join("ledger"), folder.join("log"));
    fs::create_dir(folder)?;
    fs::create_dir(&ledger)?;
    chown(&ledger, None, Some(NOBODY))?;
    fs::set_permissions(&ledger, Permissions::from_mode(0o2770))?;
    fs::write(&log, "")?;
    fs::set_permissions(&log, Permissions::from_mode(0o666))?;
    Ok(log)
}

fn play(program: &Path, folder: &Path, is_shared: bool, log: &Path, expectation: &Expectation) -> Outcome {
    let ledger = if is_shared { folder.join("ledger").display().to_string() } else { "auto".to_owned() };
    let ledger = format!("ledger={ledger}");
    let log_text = log.to_string_lossy();
    let done = run::run(program, folder, &["--json", &log_text, "-o", &ledger], &[])?;
    let mut wrong = String::new();
    if done.end != expectation.end() {
        wrong += &format!("ended with {:?}, expected {:?}\n", done.end, expectation.end());
    }
    wrong += &findings::compare(&findings::read(log)?, expectation).err().unwrap_or_default();
    let said = fs::read_to_string(log).unwrap_or_default();
    for shown in expectation.shows.iter().filter(|shown| !said.contains(shown.as_str())) {
        wrong += &format!("does not show: {shown}\n");
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong}--- log\n{said}--- standard error\n{}", done.stderr)) }
}
