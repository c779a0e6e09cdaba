//! A device file's identity.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which device file: one open of a device node, shared by all descriptors that were dup'ed, passed or inherited from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// The node's device, as stat tells it.
    pub dev: u64,
    /// The node's inode.
    pub ino: u64,
    /// The number that tells the opens of that node apart.
    pub number: u64,
}

/// As reports show it: the number alone.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.number)
    }
}

impl FileId {
    /// As a file name.
    pub fn file_name(&self) -> String {
        format!("{:x}.{:x}.{:012x}", self.dev, self.ino, self.number)
    }
}

/// Reads what [`FileId::file_name`] writes.
impl FromStr for FileId {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let parts: Vec<u64> = name.split('.').map_while(|part| u64::from_str_radix(part, 16).ok()).collect();
        let &[dev, ino, number] = parts.as_slice() else { return Err(()) };
        let id = FileId { dev, ino, number };
        if id.file_name() == name { Ok(id) } else { Err(()) }
    }
}
