//! The kernel half of the emulated device.
