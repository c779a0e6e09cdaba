//! The command `verbsguard`.

mod doctor;
mod explain;
mod installed;
mod look;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Finds what goes wrong with RDMA objects that processes share.
#[derive(Debug, Parser)]
#[command(name = "verbsguard", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Doctor(doctor) => doctor.run(),
        Command::Explain(explain) => explain.run().map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        // Whoever closes the pipe has read enough.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return ExitCode::SUCCESS;
        }
        eprintln!("verbsguard: cannot write: {error}");
        ExitCode::from(2)
    })
}
