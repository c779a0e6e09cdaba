//! What the tests share: the C programs of `tests-c`, the rdma-cores to run them on, and how to run them.
//!
//! A program's first comment says what it expects ([`expect`]); [`program`] finds the programs, [`rdma_core`] compiles
//! them, [`run`] runs one, [`findings`] reads what the guard said about it.
#![forbid(unsafe_code)]

pub mod expect;
pub mod findings;
pub mod header;
pub mod program;
pub mod rdma_core;
pub mod run;
pub mod soak;
pub mod tap;

use std::path::{Path, PathBuf};

/// The project's folder.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What `make` built, or what to do where it is not there.
pub fn built(name: &str) -> Result<PathBuf, String> {
    let path = project().join("build").join(name);
    path.canonicalize().map_err(|_| format!("build/{name} is not there: type `make` first"))
}

/// A result whose error is a line for people.
pub type Outcome<T = ()> = Result<T, String>;

/// Runs a command to its end and gives its standard output, or one readable error.
pub fn output_of(command: &mut std::process::Command) -> Outcome<String> {
    let done = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(format!("{command:?} failed ({}):\n{}", done.status, String::from_utf8_lossy(&done.stderr)))
}
