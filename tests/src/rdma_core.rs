//! An unpacked rdma-core: its folder, and how a program is compiled for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Program;
use crate::{Outcome, output_of, project};

/// The versions that every program runs on.
pub const VERSIONS: &[u32] = &[65, 56, 44];

/// One unpacked rdma-core.
#[derive(Clone, Debug)]
pub struct RdmaCore {
    /// Its version.
    pub version: u32,
    /// Where it lies.
    pub root: PathBuf,
}

impl RdmaCore {
    /// Finds it, and fetches it on first use.
    pub fn find(version: u32) -> Outcome<RdmaCore> {
        let mut script = Command::new(project().join("scripts/rdma-core-root"));
        let root = output_of(script.arg(version.to_string()))?;
        Ok(RdmaCore { version, root: root.trim().into() })
    }

    /// Its headers.
    pub fn include(&self) -> PathBuf {
        self.root.join("usr/include")
    }

    /// Its libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("usr/lib/x86_64-linux-gnu")
    }

    /// Its own loader, where its C library is newer than the machine's.
    pub fn loader(&self) -> Option<PathBuf> {
        let loader = self.root.join("lib64/ld-linux-x86-64.so.2");
        loader.exists().then_some(loader)
    }

    /// Puts into `folder` what auditwheel and its like put into a wheel: copies of the libraries under other names, which
    /// need each other by those. `libibverbs-1.so` and `libmlx5-1.so`: names as long as the old ones.
    pub fn bundle(&self, folder: &Path) -> Outcome {
        for (library, copy) in [("libibverbs.so.1", "libibverbs-1.so"), ("libmlx5.so.1", "libmlx5-1.so")] {
            let path = self.lib().join(library);
            let mut bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            replace(&mut bytes, b"libibverbs.so.1\0", b"libibverbs-1.so\0");
            replace(&mut bytes, b"libmlx5.so.1\0", b"libmlx5-1.so\0");
            fs::write(folder.join(copy), bytes).map_err(|error| format!("{copy}: {error}"))?;
        }
        Ok(())
    }

    /// Compiles `program` to `out`.
    pub fn compile(&self, program: &Program, out: &Path) -> Outcome {
        self.build(std::slice::from_ref(&program.source), out)
    }

    /// Compiles `program` for the kernel lab, where these libraries stand in the usual places.
    pub fn compile_for_lab(&self, source: &Path, out: &Path) -> Outcome {
        let mut cc = self.compiler(&[source.to_owned()], out);
        self.link(&mut cc);
        output_of(cc.arg("-Wl,--allow-shlib-undefined")).map(drop)
    }

    /// Compiles these sources to one program.
    pub fn build(&self, sources: &[PathBuf], out: &Path) -> Outcome {
        let mut cc = self.compiler(sources, out);
        self.link(&mut cc);
        self.rpath(&mut cc);
        output_of(&mut cc).map(drop)
    }

    fn compiler(&self, sources: &[PathBuf], out: &Path) -> Command {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .arg("-I")
            .arg(self.include())
            .arg("-o")
            .arg(out)
            .args(sources.iter().map(|source| source.strip_prefix(project()).unwrap_or(source)))
            // So that debug information names sources as the project does.
            .current_dir(project());
        cc
    }

    /// Adds what links a program against these libraries.
    fn link(&self, cc: &mut Command) {
        cc.arg(format!("-L{}", self.lib().display())).args(["-Wl,--no-as-needed", "-lmlx5", "-libverbs"]);
    }

    /// Adds what makes a program load these libraries, and start by their own loader.
    pub fn rpath(&self, cc: &mut Command) {
        // Not a runpath: a preloaded library's own needs are to be met from here too.
        cc.args(["-Wl,--allow-shlib-undefined", "-Wl,--disable-new-dtags"]);
        cc.arg(format!("-Wl,-rpath,{}", self.lib().display()));
        if let Some(loader) = self.loader() {
            cc.arg(format!("-Wl,--dynamic-linker={}", loader.display()));
        }
    }
}

/// Puts `new` everywhere in the place of `old`, which is as long.
pub fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
}
