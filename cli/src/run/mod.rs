//! `verbsguard run`: a command with the guard before rdma-core, and with emulated devices.

pub mod daemon;
mod install;
mod options;
mod sysfs;

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use verbsguard_emu_proto::{DEVICES_MAX, FOLDER_VARIABLE};

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
    /// Add the auditor, for programs that reach verbs through dlopen; --audit=off forbids it
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
        if self.audit == Some(Audit::On) {
            return Err("--audit is not available in this version; leave it out".into());
        }
        if !is_program(&self.command[0]) {
            return Err(format!("cannot run '{}': there is no such program", self.command[0].display()));
        }
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let preload = self.preload()?;
        if !preload.is_empty() {
            command.env("LD_PRELOAD", preload);
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
            libraries.push(install::library("libverbsguard.so.0")?);
        }
        if self.emulate.is_some() {
            libraries.push(install::library("libverbsguard-emu.so")?);
        }
        let mut preload = libraries.into_iter().map(PathBuf::into_os_string).collect::<Vec<_>>();
        preload.extend(env::var_os("LD_PRELOAD").filter(|value| !value.is_empty()));
        Ok(preload.join(OsStr::new(":")))
    }
}

/// Whether a shell would find it. Asked before devices are made for it.
fn is_program(program: &OsStr) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return Path::new(program).is_file();
    }
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
