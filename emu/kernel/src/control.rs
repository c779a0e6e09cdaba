//! What tests ask of the daemon: counts, faults, a device's removal. One JSON request a message, one JSON answer.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::PoisonError;

use nix::sys::socket::{MsgFlags, send};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::device::Device;
use crate::methods;
use crate::server::World;
use crate::wire;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Request {
    /// Live objects by type, of each device and each of its device files.
    Stats,
    /// The next request of this kind fails.
    Fail { kind: String, errno: i32, device: Option<usize> },
    /// From now on freed umem ids, pdns and other numbers of the device come back at once.
    Reuse { device: usize },
    /// The port becomes one of Ethernet, or of InfiniBand again, for contexts that are made from then on.
    Link { layer: Layer, device: usize },
    /// The device is pulled out.
    Remove { device: usize },
    /// It is put back, as a new device: what was open stays dead.
    Restore { device: usize },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Layer {
    Ethernet,
    InfiniBand,
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
        Request::Fail { kind, .. } if !methods::kinds().contains(kind.as_str()) => {
            json!({ "error": format!("there is no kind of request '{kind}'") })
        }
        // Errno 0 takes back what was asked for before.
        Request::Fail { kind, errno, device } => with_device(world, device.unwrap_or(0), |_, device| {
            device.faults.retain(|(known, _)| errno != 0 || *known != kind);
            if errno != 0 {
                device.faults.push((kind, errno));
            }
        }),
        Request::Reuse { device } => with_device(world, device, |_, device| device.reuses = true),
        Request::Link { layer, device } => {
            with_device(world, device, |_, device| device.is_ethernet = matches!(layer, Layer::Ethernet))
        }
        // The socket keeps listening under another name, so that nobody finds it.
        Request::Remove { device } => with_device(world, device, |index, device| {
            device.removed = true;
            device.ufiles.values_mut().for_each(|ufile| ufile.is_dead = true);
            let _ = std::fs::rename(world.socket(index), hidden(world, index));
        }),
        Request::Restore { device } => with_device(world, device, |index, device| {
            device.removed = false;
            let _ = std::fs::rename(hidden(world, index), world.socket(index));
        }),
    }
}

fn hidden(world: &World, index: usize) -> PathBuf {
    world.socket(index).with_extension("removed")
}

fn with_device(world: &World, index: usize, act: impl FnOnce(usize, &mut Device)) -> Value {
    match world.devices.get(index) {
        Some(device) => {
            act(index, &mut device.lock().unwrap_or_else(PoisonError::into_inner));
            json!({ "ok": true })
        }
        None => json!({ "error": format!("there is no device {index}") }),
    }
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
