//! The kernel half of the emulated mlx5 device: what ib_core, ib_uverbs and mlx5_ib answer, without hardware.
//!
//! A daemon listens on one socket for each device. A connection is one open of the device node (a device file), alive as
//! long as any descriptor of it is. Each request comes with a socket of its own, over which the daemon reads and writes
//! the program's memory as copy_from_user does, and answers. docs/emulator.md tells what is faithful and what is not.

mod channel;
mod control;
mod device;
mod ioctl;
mod locks;
mod methods;
mod object;
mod server;
mod session;
mod ufile;
mod wire;

pub use server::serve;
