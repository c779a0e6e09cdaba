//! What tests ask of the daemon: counts, faults, a device's removal. One JSON request a message, one JSON answer.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::PoisonError;

use nix::sys::socket::{MsgFlags, send};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::World;
use crate::wire;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Request {
    /// Live objects by type, of each device and each of its device files.
    Stats,
    /// The next request of this kind fails.
    Fail { kind: String, errno: i32, device: Option<usize> },
    /// The device is pulled out.
    Remove { device: usize },
}

/// Serves one connection.
pub fn serve(world: &World, connection: BorrowedFd<'_>) {
    while let Ok(message) = wire::receive(connection.as_raw_fd()) {
        if message.bytes.is_empty() {
            return;
        }
        let answer = match serde_json::from_slice(&message.bytes) {
            Ok(request) => answer(world, request),
            Err(error) => json!({ "error": format!("not understood: {error}") }),
        };
        if send(connection.as_raw_fd(), answer.to_string().as_bytes(), MsgFlags::MSG_NOSIGNAL).is_err() {
            return;
        }
    }
}

fn answer(world: &World, request: Request) -> Value {
    match request {
        Request::Stats => stats(world),
        Request::Fail { kind, errno, device } => {
            let index = device.unwrap_or(0);
            let Some(device) = world.devices.get(index) else { return no_device(index) };
            device.lock().unwrap_or_else(PoisonError::into_inner).faults.push((kind, errno));
            json!({ "ok": true })
        }
        Request::Remove { device: index } => {
            let Some(device) = world.devices.get(index) else { return no_device(index) };
            device.lock().unwrap_or_else(PoisonError::into_inner).removed = true;
            let _ = std::fs::remove_file(world.socket(index));
            json!({ "ok": true })
        }
    }
}

fn no_device(index: usize) -> Value {
    json!({ "error": format!("there is no device {index}") })
}

fn stats(world: &World) -> Value {
    let devices: Vec<Value> = world
        .devices
        .iter()
        .map(|device| {
            let device = device.lock().unwrap_or_else(PoisonError::into_inner);
            json!({ "files": device.ufiles.len(), "live": device.counts(), "removed": device.removed })
        })
        .collect();
    json!({ "ok": true, "devices": devices })
}
