//! The rules as a reference model: what each step of a program of several processes answers, and what a guard must say of
//! it. It is small, shares no code with the guard, and knows everything: all processes are guarded, and no two steps
//! overlap. Tests of the tracker and whole random programs are held against it (docs/testing.md).
//!
//! [`kernel`] is what the kernel does, [`step`] what a program can do, [`model`] what both come to.
#![forbid(unsafe_code)]

mod calls;
pub mod kernel;
mod leaks;
pub mod model;
pub mod step;

pub use kernel::{Device, Kind, Uid, What};
pub use model::{Found, Model, Outcome};
pub use step::{End, Given, Id, Source, Step, Who};
