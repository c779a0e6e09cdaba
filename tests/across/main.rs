//! What stands between processes that share a device file: ledgers that cannot be written or believed, and other users;
//! and what `verbsguard ps` and `verbsguard report` show of them.

mod degraded;
mod many;
mod shown;
mod users;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use verbsguard_tests::rdma_core::{RdmaCore, VERSIONS};
use verbsguard_tests::{Outcome, output_of, project};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("across: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials() -> Outcome<Vec<Trial>> {
    let bench = Arc::new(Bench::new()?);
    let mut trials = degraded::trials(&bench)?;
    trials.extend(users::trials(&bench)?);
    trials.extend(many::trials(&bench)?);
    trials.extend(shown::trials(&bench)?);
    Ok(trials)
}

/// The newest rdma-core, and a folder of the tests' own.
struct Bench {
    core: RdmaCore,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Outcome<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("across");
        Ok(Bench { core: RdmaCore::find(VERSIONS[0])?, folder: fresh(&folder)? })
    }

    /// Compiles a program of tests-c.
    fn compile(&self, source: &str) -> Outcome<PathBuf> {
        let out = self.folder.join(source.replace(['/', '.'], "-"));
        self.core.build(&[project().join("tests-c").join(source)], &out)?;
        Ok(out)
    }
}

/// An empty folder.
fn fresh(path: &Path) -> Outcome<PathBuf> {
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    Ok(path.to_owned())
}

/// A trial, or a skipped one that says why.
fn trial_or(why: Option<&str>, name: String, test: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    let trial = Trial::test(name, move || Ok(test()?));
    match why {
        Some(why) => trial.with_kind(format!("skipped: {why}")).with_ignored_flag(true),
        None => trial,
    }
}

fn is_root() -> bool {
    output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
