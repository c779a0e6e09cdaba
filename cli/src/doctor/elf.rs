//! What is read of an ELF file.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Architecture, ExportFlags, FileKind, Object, ObjectSection, ObjectSymbol};

/// A function at a version node.
pub type Symbol = (String, String);

/// How libibverbs' own messages begin, as C strings; here not as one, or we would take ourselves for a copy of it.
const MESSAGE: &[u8] = b"~libibverbs: Warning: ";

/// A 64-bit ELF file of this machine's kind.
#[derive(Debug, Default)]
pub struct Elf {
    /// The dynamic loader that it asks for.
    pub interpreter: Option<PathBuf>,
    /// The verbs functions that it offers to others, each at its node ("" without one).
    pub exports: BTreeSet<Symbol>,
    /// The version nodes that it defines.
    pub nodes: BTreeSet<String>,
    /// The verbs functions that it defines at all, as far as it was not stripped.
    pub own: BTreeSet<String>,
    /// Looks symbols up by name.
    pub asks: bool,
    /// Opens libraries by name.
    pub opens: bool,
    /// Starts other programs.
    pub starts: bool,
    /// The verbs functions whose names stand in its data.
    pub names: BTreeSet<String>,
    /// Names libibverbs or libmlx5 in its data.
    pub names_library: bool,
    /// Holds libibverbs' own messages.
    pub is_verbs: bool,
}

/// Why a file was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// It cannot be opened, or is damaged.
    Unreadable(String),
    /// An ELF file for another machine.
    Foreign,
    /// No ELF file.
    NotElf,
}

impl Elf {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Elf, Refused> {
        let file = File::open(path).map_err(|error| Refused::Unreadable(error.to_string()))?;
        let data = ReadCache::new(file);
        match FileKind::parse(&data) {
            Ok(FileKind::Elf64) => {}
            Ok(FileKind::Elf32) => return Err(Refused::Foreign),
            _ => return Err(Refused::NotElf),
        }
        let damaged = |error: object::Error| Refused::Unreadable(format!("damaged: {error}"));
        let file = ElfFile64::parse(&data).map_err(damaged)?;
        if !is_native(&file) {
            return Err(Refused::Foreign);
        }
        let mut elf = Elf { interpreter: interpreter(&file), ..Elf::default() };
        let imports = elf.take_symbols(&file).map_err(damaged)?;
        // Names matter where somebody looks them up, or is static.
        if elf.asks || elf.opens || imports == 0 {
            for section in file.sections().filter(holds_strings) {
                elf.take_strings(section.data().unwrap_or_default());
            }
        }
        Ok(elf)
    }

    /// Gives how many symbols it imports.
    fn take_symbols<'data>(&mut self, file: &impl Object<'data>) -> object::Result<usize> {
        let mut imports = 0;
        for import in file.imports()? {
            imports += 1;
            match import?.name().name().unwrap_or_default() {
                b"dlsym" | b"dlvsym" => self.asks = true,
                b"dlopen" | b"dlmopen" => self.opens = true,
                b"system" | b"popen" => self.starts = true,
                name if name.starts_with(b"exec") || name.starts_with(b"posix_spawn") => self.starts = true,
                _ => {}
            }
        }
        for export in file.exports()? {
            let export = export?;
            let node = match export.flags() {
                ExportFlags::Elf { version: Some(node), .. } => String::from_utf8_lossy(node).into_owned(),
                _ => String::new(),
            };
            if let Some(name) = export.name().name().and_then(verbs_name) {
                self.exports.insert((name, node.clone()));
            }
            self.nodes.insert(node);
        }
        let defined = file.symbols().filter(|symbol| symbol.is_definition());
        self.own = defined.filter_map(|symbol| verbs_name(symbol.name_bytes().ok()?)).collect();
        Ok(imports)
    }

    fn take_strings(&mut self, data: &[u8]) {
        let has = |text: &[u8]| memchr::memmem::find(data, text).is_some();
        // Also a wheel's copies, `libibverbs-39d9eaa1.so.1.14.50.0`.
        self.names_library |=
            [&b"libibverbs."[..], b"libibverbs-", b"libmlx5.", b"libmlx5-"].iter().any(|name| has(name));
        self.is_verbs |=
            memchr::memmem::find_iter(data, &MESSAGE[1..]).any(|at| at.checked_sub(1).is_none_or(|at| data[at] == 0));
        for prefix in [&b"ibv_"[..], b"mlx5dv_"] {
            self.names.extend(memchr::memmem::find_iter(data, prefix).filter_map(|at| whole_string(data, at)));
        }
    }
}

fn is_native<'data>(file: &impl Object<'data>) -> bool {
    let native = if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 };
    file.architecture() == native && file.is_little_endian()
}

fn interpreter<'data>(file: &ElfFile64<'data, object::Endianness, &'data ReadCache<File>>) -> Option<PathBuf> {
    let (endian, data) = (file.endian(), file.data());
    let find = |header: &'data <object::elf::FileHeader64<object::Endianness> as FileHeader>::ProgramHeader| {
        header.interpreter(endian, data).ok().flatten()
    };
    let path = file.elf_program_headers().iter().find_map(find)?;
    Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()))
}

/// Compilers put strings there. Other data may be large: code for GPUs, for instance.
fn holds_strings<'data>(section: &impl ObjectSection<'data>) -> bool {
    let name = section.name_bytes().unwrap_or_default();
    name.starts_with(b".rodata") || name.starts_with(b".data")
}

/// The name, if it is one of libibverbs' or libmlx5's.
fn verbs_name(name: &[u8]) -> Option<String> {
    let stem = name.strip_prefix(b"_").unwrap_or(name);
    let is_verbs = stem.starts_with(b"ibv_") || stem.starts_with(b"mlx5dv_");
    is_verbs.then(|| String::from_utf8_lossy(name).into_owned())
}

/// The NUL-terminated string around `at`, if it is nothing but a name.
fn whole_string(data: &[u8], at: usize) -> Option<String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = at + data[at..].iter().position(|byte| !is_name(byte))?;
    let start = data[..at].iter().rposition(|byte| !is_name(byte)).map_or(0, |before| before + 1);
    let alone = data[end] == 0 && (start == 0 || data[start - 1] == 0);
    alone.then(|| verbs_name(&data[start..end])).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_whole_string() {
        let mut elf = Elf::default();
        elf.take_strings(
            b"\0ibv_reg_mr\0 ibv_alloc_pd failed\0_mlx5dv_get_export_sizes\0use ibv_dereg_mr\0my_ibv_x\0ibv_",
        );
        let expected = ["_mlx5dv_get_export_sizes", "ibv_reg_mr"].map(str::to_owned);
        assert_eq!(elf.names, BTreeSet::from(expected));
        assert!(!elf.names_library && !elf.is_verbs);
        elf.take_strings(&[b"libmlx5.so.1\0", &MESSAGE[1..], b"\0"].concat());
        assert!(elf.names_library && elf.is_verbs);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert_eq!(
            Elf::read(Path::new(file!())).unwrap_err(),
            Refused::Unreadable("No such file or directory (os error 2)".into())
        );
        assert_eq!(Elf::read(Path::new("/proc/self/status")).unwrap_err(), Refused::NotElf);
    }

    #[test]
    fn this_very_program_is_read() {
        let elf = Elf::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(elf.interpreter.unwrap().to_string_lossy().contains("ld-linux"));
        assert!(elf.exports.is_empty() && !elf.is_verbs);
    }
}
