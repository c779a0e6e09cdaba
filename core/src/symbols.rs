//! Names for places: function, file and line, from debug information or else from the symbol table.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use addr2line::{Loader, demangle_auto};
use object::{Object, ReadCache};

use crate::site::Frame;

/// Modules that were loaded, and places that were named. Neither is done twice.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<(String, Option<String>), Vec<Loader>>,
    places: HashMap<Frame, Vec<Frame>>,
}

impl Symbols {
    /// Spells out a stack whose frames know module, offset and build id only, the innermost first. What was inlined
    /// gets frames of its own, and what the C library does before `main` and below a thread is left out.
    pub fn spell(&mut self, bare: impl IntoIterator<Item = Frame>) -> Vec<Frame> {
        let mut bare: Vec<_> = bare.into_iter().collect();
        while bare.len() > 1 && bare.last().is_some_and(|frame| self.starts_programs(frame)) {
            bare.pop();
        }
        bare.iter().flat_map(|frame| self.place(frame)).collect()
    }

    /// Asked from the outermost frame on, so that the C library itself is hardly ever loaded.
    fn starts_programs(&mut self, frame: &Frame) -> bool {
        let module = frame.module_name();
        module == "libc.so.6"
            || module.starts_with("ld-linux")
            || self.place(frame).iter().any(|frame| frame.function.as_deref() == Some("_start"))
    }

    fn place(&mut self, bare: &Frame) -> Vec<Frame> {
        if let Some(known) = self.places.get(bare) {
            return known.clone();
        }
        let named = self.name(bare);
        self.places.insert(bare.clone(), named.clone());
        named
    }

    fn name(&mut self, bare: &Frame) -> Vec<Frame> {
        let key = (bare.module.clone(), bare.build_id.clone());
        let loaders = self.modules.entry(key).or_insert_with(|| load(&bare.module, bare.build_id.as_deref()));
        loaders.iter().find_map(|loader| from_debug_information(loader, bare)).unwrap_or_else(|| {
            let symbol = loaders.iter().find_map(|loader| loader.find_symbol(bare.offset));
            let function = symbol.map(|symbol| demangle_auto(symbol.into(), None).into_owned());
            vec![Frame { function, ..bare.clone() }]
        })
    }
}

/// The file itself, and before it the debug information that distributions install apart.
fn load(module: &str, build_id: Option<&str>) -> Vec<Loader> {
    let module = Path::new(module);
    if !module.is_absolute() || !is_still(module, build_id) {
        return Vec::new();
    }
    let apart = build_id.and_then(debug_file);
    apart.iter().map(PathBuf::as_path).chain([module]).filter_map(|path| Loader::new(path).ok()).collect()
}

fn debug_file(build_id: &str) -> Option<PathBuf> {
    let (folder, rest) = build_id.split_at_checked(2)?;
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{folder}/{rest}.debug"));
    path.exists().then_some(path)
}

/// Whether the file is the one that was loaded: a name from another build would be a lie.
fn is_still(module: &Path, build_id: Option<&str>) -> bool {
    let Some(build_id) = build_id else { return true };
    let Ok(file) = File::open(module) else { return false };
    let cache = ReadCache::new(file);
    let found = object::File::parse(&cache).ok().and_then(|object| object.build_id().ok().flatten().map(hex));
    found.as_deref() == Some(build_id)
}

/// A build id as reports write it.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_debug_information(loader: &Loader, bare: &Frame) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    let mut inlined = loader.find_frames(bare.offset).ok()?;
    while let Ok(Some(found)) = inlined.next() {
        let function = found.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
        let source = found.location.and_then(|at| Some(format!("{}:{}", at.file?, at.line?)));
        frames.push(Frame { function, source, ..bare.clone() });
    }
    let outermost = frames.last_mut()?;
    if outermost.function.is_none() {
        let symbol = loader.find_symbol(bare.offset)?;
        outermost.function = Some(demangle_auto(symbol.into(), None).into_owned());
    }
    Some(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where this test's own program is, as the border would record it.
    fn here(address: usize) -> Frame {
        let exe = std::fs::read_link("/proc/self/exe").expect("our own path");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("our own mappings");
        let first = maps.lines().find(|line| line.ends_with(&*exe.to_string_lossy())).expect("our own mapping");
        let base = u64::from_str_radix(first.split('-').next().unwrap_or_default(), 16).expect("an address");
        let module = exe.to_string_lossy().into_owned();
        Frame { module, offset: address as u64 - base, ..Frame::default() }
    }

    #[inline(never)]
    fn marker() -> u32 {
        line!()
    }

    #[test]
    fn a_place_gets_function_and_line() {
        let mut symbols = Symbols::default();
        let bare = here(marker as *const () as usize);
        for _ in 0..2 {
            let frames = symbols.spell([bare.clone()]);
            assert_eq!(frames.len(), 1, "{frames:?}");
            assert!(frames[0].function.as_deref().is_some_and(|name| name.ends_with("::marker")), "{frames:?}");
            let source = frames[0].source.as_deref().unwrap_or_default();
            let line: u32 = source.rsplit_once("src/symbols.rs:").and_then(|(_, line)| line.parse().ok()).unwrap_or(0);
            assert!(line.abs_diff(marker()) <= 1, "{source}");
        }
        assert_eq!((symbols.modules.len(), symbols.places.len()), (1, 1));
    }

    #[test]
    fn another_build_of_the_file_gives_no_names() {
        let bare = Frame { build_id: Some("c0ffee".into()), ..here(marker as *const () as usize) };
        assert_eq!(Symbols::default().spell([bare.clone()]), [bare]);
    }

    #[test]
    fn what_is_no_file_gives_no_names() {
        for module in ["", "linux-vdso.so.1", "/nowhere/libgone.so", "/proc/self/maps", "/"] {
            let bare = Frame { module: module.into(), offset: 0x1234, ..Frame::default() };
            assert_eq!(Symbols::default().spell([bare.clone()]), [bare]);
        }
    }

    #[test]
    fn a_relative_name_may_mean_another_file_by_now() {
        let here = here(marker as *const () as usize);
        let up = "../".repeat(std::env::current_dir().expect("a folder").components().count() - 1);
        let bare = Frame { module: format!("{up}{}", &here.module[1..]), ..here };
        assert!(Path::new(&bare.module).exists());
        assert_eq!(Symbols::default().spell([bare.clone()]), [bare]);
    }

    #[test]
    fn what_starts_a_program_is_left_out() {
        let frame = |module: &str| Frame { module: module.into(), ..Frame::default() };
        let stack =
            [frame("/app"), frame("/lib/libc.so.6"), frame("/app"), frame("/lib/libc.so.6"), frame("libc.so.6")];
        assert_eq!(Symbols::default().spell(stack).len(), 3);
        assert_eq!(Symbols::default().spell([frame("libc.so.6")]).len(), 1);
    }
}
