//! The preloaded half of the emulated device: plays `/dev/infiniband/uverbsN` for one process.
//!
//! It knows no verbs. It turns opening a device node into a connection to the daemon, recognises such a descriptor
//! again by the address of its peer (so dup, fork, exec and descriptor passing need no help), and carries requests
//! over. Everything here may run before `main`, in a signal handler or between fork and exec: no allocation, no
//! thread-local storage, no std call that could come back to the functions defined here.
mod call;
mod device;
mod discovery;
mod hooks;
mod lock;
mod mapping;
mod next;
mod node;
mod sys;
mod talk;

/// Runs with the other constructors, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    device::learn_folder();
    next::resolve_all();
}
