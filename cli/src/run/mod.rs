//! `verbsguard run`: a command with the guard before rdma-core, and with emulated devices.

pub mod daemon;
pub mod install;
mod options;
mod sysfs;

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use verbsguard_emu_proto::{DEVICES_MAX, FOLDER_VARIABLE};

use crate::doctor::{self, AUDITOR, GUARD};

/// Whether the auditor goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Audit {
    On,
    Off,
}

/// Runs a command guarded. Its exit status is the command's own, or `exitcode` (23 unless set) where there was an error
/// finding.
#[derive(Debug, Args)]
pub struct Run {
    /// Give the command N emulated mlx5 devices (1 if N is left out) instead of hardware. VERBSGUARD_EMU is set for it
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=DEVICES_MAX as i64))]
    emulate: Option<u16>,
    /// Leave the guard out: the plain program, to compare
    #[arg(long)]
    no_guard: bool,
    /// Add the auditor, for programs that reach verbs through dlopen. It is added by itself where the command needs it;
    /// --audit=off forbids it
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    audit: Option<Audit>,
    /// Set an option of the guard; VERBSGUARD_OPTIONS=help=1 lists them
    #[arg(short = 'o', value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// Write findings to FILE as JSON Lines
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Run {
    /// Becomes the command; what comes back says why that was not possible.
    pub fn run(self) -> String {
        self.prepare().map_or_else(|message| message, |mut command| self.become_command(&mut command))
    }

    fn become_command(&self, command: &mut Command) -> String {
        let error = command.exec();
        format!("cannot run '{}': {error}", self.command[0].display())
    }

    fn prepare(&self) -> Result<Command, String> {
        doctor::find(&self.command[0])?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let preload = self.preload()?;
        if !preload.is_empty() {
            command.env("LD_PRELOAD", preload);
        }
        if self.is_audited()? {
            command.env("LD_AUDIT", list([install::library(AUDITOR)?], "LD_AUDIT"));
        }
        let options = options::assemble(&self.options, self.json.as_deref())?;
        if let Some(devices) = self.emulate {
            let folder = daemon::start(devices.into(), options::ledger(&options).as_deref())?;
            command.env(FOLDER_VARIABLE, &folder).env("SYSFS_PATH", folder.join("sys"));
        }
        command.env("VERBSGUARD_OPTIONS", options);
        Ok(command)
    }

    /// The guard first, then the emulated device, then what the user preloads.
    fn preload(&self) -> Result<OsString, String> {
        let mut libraries = Vec::new();
        if !self.no_guard {
            libraries.push(install::library(GUARD)?);
        }
        if self.emulate.is_some() {
            libraries.push(install::library("libverbsguard-emu.so")?);
        }
        Ok(list(libraries, "LD_PRELOAD"))
    }

    /// Whether the auditor goes along: where it was asked for, or the command looks verbs up by name, or may.
    fn is_audited(&self) -> Result<bool, String> {
        if self.no_guard || self.audit == Some(Audit::Off) {
            return Ok(false);
        }
        match doctor::audit(&self.command) {
            doctor::Audit::Impossible(why) if self.audit.is_some() => Err(format!("--audit: {why}; leave it out")),
            doctor::Audit::Impossible(why) => {
                eprintln!("verbsguard: calls that {} looks up by name are not seen: {why}", self.command[0].display());
                Ok(false)
            }
            audit => Ok(self.audit.is_some() || audit == doctor::Audit::Wanted),
        }
    }
}

/// These libraries, and then what the user has in this variable.
fn list(libraries: impl IntoIterator<Item = PathBuf>, variable: &str) -> OsString {
    let mut list: Vec<_> = libraries.into_iter().map(PathBuf::into_os_string).collect();
    list.extend(env::var_os(variable).filter(|value| !value.is_empty()));
    list.join(OsStr::new(":"))
}
