//! Writes include/verbsguard.h anew.

use std::process::ExitCode;

use verbsguard_tests::{header, project};

fn main() -> ExitCode {
    let path = project().join(header::PUBLIC);
    let written = header::public().and_then(|text| {
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("header: {error}");
            ExitCode::FAILURE
        }
    }
}
