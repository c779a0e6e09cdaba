//! The shared library that stands between a program and rdma-core.
//!
//! | room | what happens there |
//! |---|---|
//! | [`abi`] | everything that speaks C: the interposed functions and the control API |
//! | [`call`], [`depth`], [`thread`], [`counter`] | the one way of a call through the house |
//! | [`making`] | calls that make and end children, which are much alike |
//! | [`flow`] | what is checked, recorded and reported before and after each kind of call |
//! | [`guard`], [`process`], [`settings`] | the guard of this process: its making, its forks, its end |
//! | [`real`], [`copies`] | calling the real libraries; whose copy a call is for |
//! | [`pointers`] | the function pointers of a context that inline verbs call |
//! | [`record`] | a device file's record in the ledger, shared with other processes |
//! | [`peek`], [`own_stack`], [`world`] | asking about memory, descriptors and other processes |
//! | [`stacks`], [`log`], [`tell`] | where it happened, and how it is told |
//!
//! What is known and judged is safe Rust, in the crate `verbsguard-core`.

mod abi;
mod call;
mod copies;
mod counter;
mod depth;
mod flow;
mod guard;
mod log;
mod making;
mod own_stack;
mod peek;
mod pointers;
mod process;
mod real;
mod record;
mod settings;
mod stacks;
mod tell;
mod thread;
mod world;
