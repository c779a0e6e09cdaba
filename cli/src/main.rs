//! The command `verbsguard`.

mod control;
mod doctor;
mod explain;
mod look;
mod ps;
mod report;
mod run;

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
    Run(run::Run),
    Doctor(doctor::Doctor),
    Ps(ps::Ps),
    Report(report::Report),
    Explain(explain::Explain),
    EmuControl(control::Control),
    #[command(hide = true)]
    EmuDaemon(run::daemon::Daemon),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(run) => complain(&run.run()),
        Command::Doctor(doctor) => doctor.run().unwrap_or_else(|error| written(Err(error))),
        Command::Ps(ps) => written(ps.run()),
        Command::Report(report) => written(report.run()),
        Command::Explain(explain) => written(explain.run()),
        Command::EmuControl(control) => control.run(),
        Command::EmuDaemon(daemon) => written(daemon.run()),
    }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("verbsguard: {message}");
    ExitCode::from(2)
}

fn written(result: io::Result<()>) -> ExitCode {
    match result {
        // Whoever closes the pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => complain(&error.to_string()),
        _ => ExitCode::SUCCESS,
    }
}
