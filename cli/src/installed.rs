//! Where this installation's libraries are.

use std::path::PathBuf;

/// A library of ours: beside the command where it was built, under the same prefix where it was installed.
pub fn find(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = own.map_err(|error| format!("cannot tell where verbsguard itself is: {error}"))?;
    let beside = own.parent().unwrap_or(&own);
    let multiarch = format!("../lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = [".", &multiarch, "../lib64", "../lib"].map(|folder| beside.join(folder));
    let found = folders.iter().find_map(|folder| folder.join(name).canonicalize().ok());
    found.ok_or_else(|| {
        format!("{name} is neither beside {} nor under its prefix: build or install anew", own.display())
    })
}
