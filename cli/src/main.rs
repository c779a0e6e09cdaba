//! The command `verbsguard`.

mod explain;
mod ps;
mod report;

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
    Explain(explain::Explain),
    Ps(ps::Ps),
    Report(report::Report),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Explain(explain) => explain.run(),
        Command::Ps(ps) => ps.run(),
        Command::Report(report) => report.run(),
    };
    match result {
        // Whoever closes the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("verbsguard: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}
