//! The world of a process that is alone with its device file.

use verbsguard_core::ledger::{Handle, Kind};
use verbsguard_core::track::{DeviceFile, Elsewhere, Reference, World};

/// Nobody else has the device file, and nothing happens behind the tracker's back.
pub struct Alone {
    /// What a look at other device files gives.
    pub elsewhere: Elsewhere,
    /// Whether a PD that was unimported still stands there: asked only where a parent domain stands on it.
    pub is_intact: bool,
}

/// Nothing is elsewhere, and what is unimported is freed.
pub const NOBODY: Alone = Alone { elsewhere: Elsewhere::Nowhere, is_intact: false };

impl World for Alone {
    fn sighted_elsewhere(&self, _: &DeviceFile, _: (Kind, Handle, Option<u32>)) -> Elsewhere {
        self.elsewhere.clone()
    }
    fn is_reborn(&self, _: &Reference, _: usize, _: &dyn Fn(usize) -> bool) -> bool {
        false
    }
    fn is_intact(&self, _: &Reference, _: usize) -> bool {
        self.is_intact
    }
    fn is_held_elsewhere(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
    fn is_held_by_silent(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
    fn is_held_by_strangers(&self, _: &DeviceFile) -> Option<bool> {
        Some(false)
    }
}
