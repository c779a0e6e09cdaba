//! Random programs of several processes, judged by a reference model and by the kernel's own counts.
//!
//! [`generate`] makes a program from a seed; `verbsguard-reference` says what each of its steps must answer and what a
//! guard must say; [`script`] writes both down in the language of `tests-kernel/truth`, whose player runs it on the
//! emulated device or the real kernel and compares; [`play`] runs the player, and makes small what fails. [`kills`] is
//! about processes that are killed at any moment.

mod generate;
pub mod kills;
pub mod play;
mod script;

pub use generate::program;
pub use script::Program;
pub use verbsguard_reference::Device;
