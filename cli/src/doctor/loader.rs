//! What the dynamic loader says about a program: it alone knows which library it takes and which symbol wins.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};

use super::program::Loader;

/// How the loader's complaints are known.
const COMPLAINTS: [&str; 3] = ["ERROR: ld.so: ", "error while loading shared libraries", "' not found (required by"];

/// A symbol reference, and where the loader binds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Whose reference.
    pub from: PathBuf,
    /// Whose function.
    pub to: PathBuf,
    /// The function.
    pub symbol: String,
    /// The version node that the reference names.
    pub node: Option<String>,
}

/// What the loader answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The libraries that the program starts with.
    pub libraries: Vec<PathBuf>,
    /// Libraries that were not found.
    pub missing: Vec<String>,
    /// The references to verbs functions.
    pub bindings: Vec<Binding>,
    /// What it complained of.
    pub complaints: Vec<String>,
}

/// Asks `loader` what it would do with `program` and these libraries preloaded. Nothing of the program runs.
pub fn ask(loader: &Loader, program: &Path, preload: &[&Path]) -> Result<Answer, String> {
    let mut list = OsString::new();
    let inherited = std::env::var_os("LD_PRELOAD").map(PathBuf::from);
    for library in preload.iter().copied().chain(inherited.as_deref()) {
        list.push(if list.is_empty() { "" } else { ":" });
        list.push(library);
    }
    let mut command = Command::new(&loader.path);
    command
        .args(&loader.options)
        .arg(program)
        .env("LD_PRELOAD", list)
        .env_remove("LD_AUDIT")
        .env_remove("LD_DEBUG_OUTPUT");
    // With LD_WARN and LD_BIND_NOW it binds all references, not only lists the libraries.
    command.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_WARN", "1").env("LD_BIND_NOW", "1").env("LD_DEBUG", "bindings");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| format!("cannot run {}: {error}", loader.path.display());
    let mut child = command.spawn().map_err(failed)?;
    let stderr = child.stderr.take();
    let reading = std::thread::spawn(move || stderr.map(read_debug).unwrap_or_default());
    let mut stdout = Vec::new();
    let read = child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout));
    let mut answer = reading.join().unwrap_or_default();
    read.and_then(|_| child.wait()).map_err(failed)?;
    answer.take_list(&String::from_utf8_lossy(&stdout));
    Ok(answer)
}

fn read_debug(stderr: ChildStderr) -> Answer {
    let mut answer = Answer::default();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        answer.take_debug(&String::from_utf8_lossy(&line));
    }
    answer
}

impl Answer {
    /// A line of LD_DEBUG=bindings, or a complaint.
    fn take_debug(&mut self, line: &str) {
        if let Some((_, binding)) = line.split_once(":\tbinding file ") {
            self.bindings.extend(parse_binding(binding));
        } else if COMPLAINTS.iter().any(|words| line.contains(words)) {
            self.complaints.push(line.trim().into());
        }
    }

    /// What `ldd` shows.
    fn take_list(&mut self, list: &str) {
        for line in list.lines() {
            let line = line.trim();
            let path = line.rsplit_once(" (0x").map_or(line, |(path, _)| path);
            match path.split_once(" => ") {
                Some((name, "not found")) => self.missing.push(name.into()),
                Some((_, path)) => self.libraries.push(path.into()),
                None if path.contains('/') => self.libraries.push(path.into()),
                None => {}
            }
        }
    }
}

/// "FROM [0] to TO [0]: normal symbol `NAME' [NODE]", for verbs functions.
fn parse_binding(text: &str) -> Option<Binding> {
    let (from, rest) = text.split_once("] to ")?;
    let (to, rest) = rest.split_once("]: ")?;
    let (_, rest) = rest.split_once('`')?;
    let (symbol, node) = rest.split_once('\'')?;
    let stem = symbol.strip_prefix('_').unwrap_or(symbol);
    if !stem.starts_with("ibv_") && !stem.starts_with("mlx5dv_") {
        return None;
    }
    let path = |text: &str| PathBuf::from(text.rsplit_once(" [").map_or(text, |(path, _)| path));
    let node = node.trim().strip_prefix('[').and_then(|node| node.strip_suffix(']')).map(str::to_owned);
    Some(Binding { from: path(from), to: path(to), symbol: symbol.into(), node })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_of_verbs_are_read() {
        let mut answer = Answer::default();
        answer.take_debug(
            "      7:\tbinding file ./my app [0] to /a/libibverbs.so.1 [0]: normal symbol `ibv_alloc_pd' [IBVERBS_1.1]",
        );
        answer.take_debug("      7:\tbinding file ./l [0] to /lib/libc.so.6 [0]: normal symbol `puts' [GLIBC_2.2.5]");
        answer.take_debug("      7:\tbinding file /l [0] to /g.so [0]: normal symbol `_mlx5dv_get_export_sizes'");
        let binding = |from: &str, to: &str, symbol: &str, node: Option<&str>| Binding {
            from: from.into(),
            to: to.into(),
            symbol: symbol.into(),
            node: node.map(str::to_owned),
        };
        let expected = [
            binding("./my app", "/a/libibverbs.so.1", "ibv_alloc_pd", Some("IBVERBS_1.1")),
            binding("/l", "/g.so", "_mlx5dv_get_export_sizes", None),
        ];
        assert_eq!(answer.bindings, expected);
    }

    #[test]
    fn the_list_is_read() {
        let mut answer = Answer::default();
        answer.take_list("\tlinux-vdso.so.1 (0x7f)\n\t/g/guard.so.0 (0x7f)\n\tlibx.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n");
        assert_eq!(answer.libraries, [PathBuf::from("/g/guard.so.0"), "/lib/libc.so.6".into()]);
        assert_eq!(answer.missing, ["libx.so"]);
    }
}
