//! Who holds what: events, and the state that is their fold.
//!
//! Inside one process the guard folds its own events; processes that share a device file append the same events to files
//! that all of them fold (docs/ledger.md). Everything here is safe, total and pure: whatever bytes or events come, nothing
//! panics and memory stays in proportion to what is alive.

mod child;
mod event;
mod file_id;
pub mod log;
mod object;
mod process;
mod query;
pub mod record;
pub mod segment;
pub mod snapshot;
mod state;
#[cfg(test)]
mod tests;

pub use child::ChildKind;
pub use event::{Event, Generation, Handle, HolderId, How, Kind, Origin, Serial, Stamp};
pub use file_id::FileId;
pub use object::{End, EndHow, Mark, Object, ObjectState, Reference};
pub use process::{Line, Process, ProcessFile};
pub use state::{FileState, REMEMBERED_DEAD};
