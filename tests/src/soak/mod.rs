//! Random programs of several processes, judged by a reference model and by the kernel's own counts.
//!
//! [`generate`] makes a program from a seed; [`model`] (with `calls` and `leaks`) says what each of its steps must answer
//! and what a guard must say; [`script`] writes both down in the language of `tests-kernel/truth`, whose player runs it
//! on the emulated device or the real kernel and compares; [`play`] runs the player, and shrinks what fails.

mod calls;
mod generate;
mod kernel;
pub mod kills;
mod leaks;
mod model;
pub mod play;
mod script;
mod step;

pub use generate::program;
pub use kernel::Device;
pub use script::Program;
