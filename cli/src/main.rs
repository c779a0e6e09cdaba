//! The command `verbsguard`.

mod explain;

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
}

fn main() -> ExitCode {
    let Command::Explain(explain) = Cli::parse().command;
    match explain.run() {
        // Whoever closes the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("verbsguard: cannot write: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}
