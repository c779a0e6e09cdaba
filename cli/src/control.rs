//! `verbsguard emu-control`: asks the daemon behind emulated devices.

use std::env;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket};
use serde_json::{Value, json};
use verbsguard_emu_proto::FOLDER_VARIABLE;

/// The longest answer.
const ANSWER_MAX: usize = 1 << 20;

/// Asks the kernel half of the emulated devices of `verbsguard run --emulate`, from inside that run (VERBSGUARD_EMU tells
/// where it is). Prints its answer, one JSON object.
#[derive(Debug, Args)]
pub struct Control {
    #[command(subcommand)]
    request: Request,
}

#[derive(Debug, Subcommand)]
enum Request {
    /// Count live objects by type, and device files, of each device
    Stats,
    /// Make the next request of a kind fail
    Fail {
        /// What is to fail, such as reg_mr, alloc_pd, umem_reg
        kind: String,
        /// The error number, such as 12 for ENOMEM; 0 takes it back
        errno: i32,
        /// The device's number
        #[arg(long, default_value_t = 0)]
        device: usize,
    },
    /// Pull a device out: what makes objects fails with EIO, what destroys them succeeds once
    Remove {
        /// The device's number
        device: usize,
    },
    /// Put a removed device back; what was open stays dead
    Restore {
        /// The device's number
        device: usize,
    },
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
            Ok(answer) => {
                let printed = writeln!(io::stdout(), "{answer}");
                if answer.get("error").is_some() { ExitCode::FAILURE } else { crate::written(printed) }
            }
            Err(error) => {
                crate::complain(&format!("the emulated devices in {} do not answer: {error}", folder.display()))
            }
        }
    }
}

impl Request {
    fn to_json(&self) -> Value {
        match self {
            Request::Stats => json!({ "op": "stats" }),
            Request::Fail { kind, errno, device } => {
                json!({ "op": "fail", "kind": kind, "errno": errno, "device": device })
            }
            Request::Remove { device } => json!({ "op": "remove", "device": device }),
            Request::Restore { device } => json!({ "op": "restore", "device": device }),
        }
    }
}

fn ask(path: &Path, request: &Value) -> io::Result<Value> {
    let connection = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    connect(connection.as_raw_fd(), &UnixAddr::new(path)?)?;
    send(connection.as_raw_fd(), request.to_string().as_bytes(), MsgFlags::MSG_NOSIGNAL)?;
    let mut answer = vec![0; ANSWER_MAX];
    let length = recv(connection.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    Ok(serde_json::from_slice(&answer[..length])?)
}
