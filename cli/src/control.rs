//! `verbsguard emu-control`: asks the daemon behind emulated devices.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket};
use serde_json::{Value, json};
use verbsguard_emu_proto::FOLDER_VARIABLE;

/// The longest answer.
const ANSWER_MAX: usize = 1 << 20;

/// Asks the kernel half of the emulated devices of `verbsguard run --emulate`, from inside that run (VERBSGUARD_EMU tells
/// where it is).
#[derive(Debug, Args)]
pub struct Control {
    #[command(subcommand)]
    request: Request,
}

#[derive(Debug, Subcommand)]
enum Request {
    /// Count live objects by type, of all devices together
    Stats {
        /// Of each device, with its device files, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the next request of a kind fail
    Fail {
        /// What is to fail, such as reg_mr, alloc_pd, umem_reg
        kind: String,
        /// The error, such as ENOMEM or 12; 0 takes it back
        #[arg(value_parser = errno)]
        errno: i32,
        /// The device's number
        #[arg(long, default_value_t = 0)]
        device: usize,
    },
    /// From now on give umem ids, pdns and other numbers of a device that were freed out again at once
    Reuse {
        /// The device's number
        #[arg(default_value_t = 0)]
        device: usize,
    },
    /// Make a device's port one of Ethernet (RoCE), or of InfiniBand again, for contexts opened from then on
    Link {
        /// What the port speaks
        layer: Layer,
        /// The device's number
        #[arg(long, default_value_t = 0)]
        device: usize,
    },
    /// Pull a device out: what makes objects fails with EIO, what destroys them succeeds once
    Remove {
        /// The device's number
        #[arg(default_value_t = 0)]
        device: usize,
    },
    /// Put a removed device back; what was open stays dead
    Restore {
        /// The device's number
        #[arg(default_value_t = 0)]
        device: usize,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Layer {
    Ethernet,
    #[value(name = "infiniband")]
    InfiniBand,
}

impl Control {
    /// Asks and prints; the exit status is 1 where the daemon refuses and 2 where there is none.
    pub fn run(&self) -> ExitCode {
        let Some(folder) = env::var_os(FOLDER_VARIABLE) else {
            return crate::complain(&format!(
                "{FOLDER_VARIABLE} is not set: call this from a program under `verbsguard run --emulate`"
            ));
        };
        match ask(&Path::new(&folder).join("control"), &self.request.to_json()) {
            Ok(answer) => self.print(&answer),
            Err(error) => {
                crate::complain(&format!("the emulated devices in {} do not answer: {error}", folder.display()))
            }
        }
    }
}

impl Control {
    fn print(&self, answer: &Value) -> ExitCode {
        if let Some(error) = answer.get("error") {
            eprintln!("verbsguard: {}", error.as_str().unwrap_or_default());
            return ExitCode::FAILURE;
        }
        match self.request {
            Request::Stats { json: true } => crate::written(writeln!(io::stdout(), "{}", answer["devices"])),
            Request::Stats { json: false } => crate::written(write!(io::stdout(), "{}", lines(&totals(answer)))),
            Request::Fail { .. }
            | Request::Reuse { .. }
            | Request::Link { .. }
            | Request::Remove { .. }
            | Request::Restore { .. } => ExitCode::SUCCESS,
        }
    }
}

/// Live objects by type, summed over the devices.
fn totals(answer: &Value) -> BTreeMap<&str, u64> {
    let devices = answer["devices"].as_array().into_iter().flatten();
    let counts = devices.filter_map(|device| device["live"].as_object()).flatten();
    let mut totals = BTreeMap::new();
    for (kind, count) in counts {
        *totals.entry(kind.as_str()).or_default() += count.as_u64().unwrap_or(0);
    }
    totals
}

fn lines(totals: &BTreeMap<&str, u64>) -> String {
    totals.iter().map(|(kind, count)| format!("{kind} {count}\n")).collect()
}

impl Request {
    fn to_json(&self) -> Value {
        match self {
            Request::Stats { .. } => json!({ "op": "stats" }),
            Request::Fail { kind, errno, device } => {
                json!({ "op": "fail", "kind": kind, "errno": errno, "device": device })
            }
            Request::Reuse { device } => json!({ "op": "reuse", "device": device }),
            Request::Link { layer: Layer::Ethernet, device } => link("ethernet", *device),
            Request::Link { layer: Layer::InfiniBand, device } => link("infiniband", *device),
            Request::Remove { device } => json!({ "op": "remove", "device": device }),
            Request::Restore { device } => json!({ "op": "restore", "device": device }),
        }
    }
}

fn link(layer: &str, device: usize) -> Value {
    json!({ "op": "link", "layer": layer, "device": device })
}

/// By number or name, as the kernel's headers call it.
fn errno(text: &str) -> Result<i32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let named = (1..134).find(|number| format!("{:?}", Errno::from_raw(*number)) == text);
    named.ok_or_else(|| "give a number, or a name such as ENOMEM".into())
}

fn ask(path: &Path, request: &Value) -> io::Result<Value> {
    let connection = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    connect(connection.as_raw_fd(), &UnixAddr::new(path)?)?;
    send(connection.as_raw_fd(), request.to_string().as_bytes(), MsgFlags::MSG_NOSIGNAL)?;
    let mut answer = vec![0; ANSWER_MAX];
    let length = recv(connection.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    Ok(serde_json::from_slice(&answer[..length])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_numbers_and_names() {
        assert_eq!((errno("12"), errno("ENOMEM"), errno("EBUSY")), (Ok(12), Ok(12), Ok(16)));
        assert!(errno("ENOTHING").is_err());
    }

    #[test]
    fn counts_are_summed_over_devices() {
        let answer = json!({ "devices": [{ "live": { "pd": 1, "mr": 0 } }, { "live": { "pd": 2, "mr": 3 } }] });
        assert_eq!(lines(&totals(&answer)), "mr 3\npd 3\n");
    }
}
