//! The preloaded half of the emulated device.
