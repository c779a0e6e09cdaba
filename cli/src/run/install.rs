//! Where the libraries lie: beside the command as built, or under the prefix as installed.

use std::env;
use std::path::PathBuf;

/// The library's path.
pub fn library(name: &str) -> Result<PathBuf, String> {
    let folders = folders()?;
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let path = found.ok_or_else(|| {
        let looked = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        format!("there is no {name} in {looked}: build it with make, or install it")
    })?;
    // ld.so splits LD_PRELOAD there, and has no quotes.
    match path.to_str().is_some_and(|path| !path.contains([' ', ':'])) {
        true => Ok(path),
        false => Err(format!("{} cannot be preloaded: move it to a path without spaces and colons", path.display())),
    }
}

fn folders() -> Result<Vec<PathBuf>, String> {
    let this = env::current_exe().map_err(|error| format!("cannot find my own folder: {error}"))?;
    let own = this.parent().map(PathBuf::from).unwrap_or_default();
    let mut folders = vec![own.clone()];
    if let Some(prefix) = own.parent() {
        let multiarch = format!("lib/{}-linux-gnu", env::consts::ARCH);
        folders.extend([multiarch.as_str(), "lib64", "lib"].map(|lib| prefix.join(lib)));
    }
    Ok(folders)
}
