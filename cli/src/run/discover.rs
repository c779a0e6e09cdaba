//! Which mlx5 provider belongs to the rdma-core that a program will load.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

const LIBRARY: &str = "libibverbs.so.1";

/// A value for IBV_DRIVERS. libibverbs looks for its providers where it was configured to; one that lies elsewhere, as
/// under a prefix, may have them in the folder `libibverbs` beside it, and appends its own suffix to this path.
pub fn driver(libibverbs: Option<PathBuf>) -> Option<PathBuf> {
    let library = libibverbs.or_else(library_in_path)?;
    let folder = library.parent()?.join("libibverbs");
    let is_mlx5 = |name: &OsStr| name.as_encoded_bytes().starts_with(b"libmlx5-rdmav");
    let mut entries = fs::read_dir(&folder).ok()?.flatten();
    entries.any(|entry| is_mlx5(&entry.file_name())).then(|| folder.join("libmlx5"))
}

/// Shells, launchers and programs that use dlopen do not name it.
fn library_in_path() -> Option<PathBuf> {
    let folders = env::var_os("LD_LIBRARY_PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(LIBRARY)).find(|path| path.is_file())
}
