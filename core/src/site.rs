//! Places in a program: an interned stack, and what a report makes of it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An interned stack of this process; [`Site::NONE`] where none was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(pub u32);

impl Site {
    /// No stack.
    pub const NONE: Site = Site(0);
}

/// One frame. Where the compiler inlined, several frames share one module and offset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Path of the module, as it was loaded; empty where the address lies in none.
    pub module: String,
    /// Offset of the call in the module's file image; the address itself where there is no module.
    pub offset: u64,
    /// Demangled name, where debug information or the symbol table has one.
    pub function: Option<String>,
    /// `file:line`, where there is debug information.
    pub source: Option<String>,
    /// The module's build id, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

impl Frame {
    /// The module's file name, without its folder.
    pub fn module_name(&self) -> &str {
        self.module.rsplit('/').next().unwrap_or_default()
    }
}

/// `teardown app.c:88`, else `teardown (libfoo.so+0x1234)`, else `0x1234 (libfoo.so+0x1234)`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => write!(f, "{:#x}", self.offset)?,
        }
        match &self.source {
            Some(source) => write!(f, " {}", source.rsplit('/').next().unwrap_or(source)),
            None if self.module.is_empty() => Ok(()),
            None => write!(f, " ({}+{:#x})", self.module_name(), self.offset),
        }
    }
}

/// A stack in a finding: interned here, or spelled out (resolved, or from another process).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// A stack of this process, to be resolved when it is reported.
    Site(Site),
    /// Spelled out.
    Frames(Vec<Frame>),
}

impl Trace {
    /// The frames; none for a stack that is not resolved yet.
    pub fn frames(&self) -> &[Frame] {
        match self {
            Trace::Site(_) => &[],
            Trace::Frames(frames) => frames,
        }
    }

    /// Whether there is nothing in it, or nothing to resolve.
    pub fn is_empty(&self) -> bool {
        match self {
            Trace::Site(site) => *site == Site::NONE,
            Trace::Frames(frames) => frames.is_empty(),
        }
    }

    /// Spells the stack out.
    pub fn resolve(&mut self, resolver: &dyn Resolve) {
        if let Trace::Site(site) = *self {
            *self = Trace::Frames(if site == Site::NONE { Vec::new() } else { resolver.resolve(site) });
        }
    }
}

impl Default for Trace {
    fn default() -> Self {
        Trace::Site(Site::NONE)
    }
}

impl From<Site> for Trace {
    fn from(site: Site) -> Self {
        Trace::Site(site)
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.frames().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Trace::Frames)
    }
}

/// What turns an interned stack into frames; the border has the real one.
pub trait Resolve {
    /// The frames of a stack, the innermost first.
    fn resolve(&self, site: Site) -> Vec<Frame>;
}
