//! Which module an address lies in, told by the loader.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use verbsguard_core::symbols::hex;

/// A module that was loaded when an event happened.
pub(super) struct Module {
    pub path: String,
    /// What the loader added to the file's addresses.
    pub base: usize,
    pub build_id: Option<String>,
}

/// Every module that a stack has met. Few, and kept for good: their code may be unmapped, their names are not.
static MODULES: boxcar::Vec<Module> = boxcar::Vec::new();

/// The modules of some addresses, as they are loaded now.
pub(super) fn of(addresses: &[usize]) -> Vec<Option<&'static Module>> {
    addresses.iter().map(|address| Some(Info::of(*address)?.module())).collect()
}

/// The address range of this library's own code; empty in tests, which are part of what they look at.
pub(super) fn own_code() -> Range<usize> {
    static START: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    if cfg!(test) {
        return 0..0;
    }
    // The end is stored last, so whoever sees it sees the start.
    let end = END.load(Ordering::Acquire);
    if end != 0 {
        return START.load(Ordering::Relaxed)..end;
    }
    let address = own_code as *const () as usize;
    let range = Info::of(address).and_then(|info| info.segment(address)).unwrap_or_default();
    START.store(range.start, Ordering::Relaxed);
    END.store(range.end, Ordering::Release);
    range
}

/// The index to the unwind table of the module that an address lies in (`.eh_frame_hdr`), and what comes behind it.
pub(super) fn unwind_header(address: usize) -> Option<&'static [u8]> {
    rest_of_segment(Info::of(address)?.unwind_header)
}

/// From an address to the end of its segment, as far as that may be read.
pub(super) fn rest_of_segment(address: usize) -> Option<&'static [u8]> {
    let info = Info::of(address)?;
    let range = address..info.segment(address)?.end;
    // SAFETY: inside a readable segment of a module that has code of a call under way, so it stays loaded.
    info.is_readable(&range).then(|| unsafe { std::slice::from_raw_parts(address as *const u8, range.len()) })
}

/// glibc's `struct dl_find_object` (dlfcn.h).
#[repr(C)]
struct Found {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    link_map: *const LinkMap,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

/// The head of glibc's `struct link_map` (link.h).
#[repr(C)]
struct LinkMap {
    addr: usize,
    name: *const c_char,
}

unsafe extern "C" {
    /// glibc 2.35: takes no lock, so that it works in a forked child and in a signal handler (dl_iterate_phdr waits for
    /// the loader's lock, which a thread that is not in the child may have had).
    fn _dl_find_object(address: *const c_void, found: *mut Found) -> c_int;
}

/// A loaded module.
struct Info {
    base: usize,
    name: *const c_char,
    headers: &'static [libc::Elf64_Phdr],
    unwind_header: usize,
}

impl Info {
    /// The module that an address lies in.
    fn of(address: usize) -> Option<Info> {
        let mut found = MaybeUninit::<Found>::zeroed();
        // SAFETY: the loader fills the struct, or says that no module has the address.
        let found = unsafe {
            if _dl_find_object(address as *const c_void, found.as_mut_ptr()) != 0 {
                return None;
            }
            found.assume_init()
        };
        // SAFETY: the link map of a module that has code of a call under way, so it stays loaded.
        let map = unsafe { found.link_map.as_ref() }?;
        Some(Info { base: map.addr, name: map.name, headers: headers(&found), unwind_header: found.eh_frame.addr() })
    }

    fn headers(&self) -> &[libc::Elf64_Phdr] {
        self.headers
    }

    fn base(&self) -> usize {
        self.base
    }

    fn range(&self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let start = self.base().wrapping_add(header.p_vaddr as usize);
        start..start.saturating_add(header.p_memsz as usize)
    }

    /// The loaded segment that holds an address.
    fn segment(&self, address: usize) -> Option<Range<usize>> {
        let loaded = self.headers().iter().filter(|header| header.p_type == libc::PT_LOAD);
        loaded.map(|header| self.range(header)).find(|range| range.contains(&address))
    }

    fn name(&self) -> &[u8] {
        if self.name.is_null() {
            return b"";
        }
        // SAFETY: the loader's own string, valid while the module is loaded.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }

    /// The record of this module, made when it is first met.
    fn module(&self) -> &'static Module {
        let new = Module { path: path(self.name()), base: self.base(), build_id: self.build_id() };
        let same = |known: &Module| known.base == new.base && known.path == new.path && known.build_id == new.build_id;
        if let Some((_, known)) = MODULES.iter().find(|(_, known)| same(known)) {
            return known;
        }
        let index = MODULES.push(new);
        &MODULES[index]
    }

    fn build_id(&self) -> Option<String> {
        let notes = self.headers().iter().filter(|header| header.p_type == libc::PT_NOTE);
        // Only what is mapped for reading can be looked at.
        notes.map(|header| self.range(header)).filter(|range| self.is_readable(range)).find_map(|range| {
            // SAFETY: inside a readable segment of a module that has code of a call under way.
            let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
            build_id(bytes)
        })
    }

    fn is_readable(&self, range: &Range<usize>) -> bool {
        let readable = |header: &libc::Elf64_Phdr| header.p_flags & libc::PF_R != 0 && header.p_type == libc::PT_LOAD;
        let mut segments = self.headers().iter().filter(|header| readable(header)).map(|header| self.range(header));
        segments.any(|segment| segment.start <= range.start && range.end <= segment.end)
    }
}

/// The program headers of a module, which lie behind the ELF header at the start of what is mapped of it.
fn headers(found: &Found) -> &'static [libc::Elf64_Phdr] {
    let start = found.start.cast::<libc::Elf64_Ehdr>();
    let len = (found.end as usize).saturating_sub(found.start as usize);
    if len < size_of::<libc::Elf64_Ehdr>() {
        return &[];
    }
    // SAFETY: the first bytes of a loaded module are mapped for reading.
    let head = unsafe { &*start };
    let at = usize::try_from(head.e_phoff).unwrap_or(usize::MAX);
    let bytes = usize::from(head.e_phnum) * size_of::<libc::Elf64_Phdr>();
    if !head.e_ident.starts_with(b"\x7fELF") || at.checked_add(bytes).is_none_or(|end| end > len.min(4096)) {
        return &[];
    }
    // SAFETY: inside the first page of the module, which is mapped with the header.
    unsafe { std::slice::from_raw_parts(found.start.byte_add(at).cast(), head.e_phnum.into()) }
}

/// The loader has no name for the program itself, and may have a relative one for what it was told to preload.
fn path(name: &[u8]) -> String {
    let path = Path::new(OsStr::from_bytes(name));
    let full = match name {
        b"" => std::fs::read_link("/proc/self/exe").ok(),
        _ if path.is_relative() && name.contains(&b'/') => std::fs::canonicalize(path).ok(),
        _ => None,
    };
    full.as_deref().unwrap_or(path).to_string_lossy().into_owned()
}

/// Finds the build id in a note segment: notes of {name size, content size, type}, name and content padded to 4 bytes.
fn build_id(mut notes: &[u8]) -> Option<String> {
    const NT_GNU_BUILD_ID: u32 = 3;
    while let Some((head, rest)) = notes.split_at_checked(12) {
        let word = |at: usize| head[at..at + 4].try_into().map(u32::from_ne_bytes).unwrap_or(0);
        let (name_size, size) = (word(0) as usize, word(4) as usize);
        let (name, rest) = rest.split_at_checked(name_size.next_multiple_of(4))?;
        let content = rest.get(..size)?;
        if word(8) == NT_GNU_BUILD_ID && name.starts_with(b"GNU\0") {
            return Some(hex(content));
        }
        notes = rest.get(size.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, content.len() as u32, kind] {
            bytes.extend(word.to_ne_bytes());
        }
        for part in [name, content] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_build_id_is_found_among_notes() {
        let other = note(1, b"GNU\0", &[0; 16]);
        let id = note(3, b"GNU\0", &[0xc0, 0xff, 0xee]);
        assert_eq!(build_id(&[other.clone(), id.clone()].concat()).as_deref(), Some("c0ffee"));
        assert_eq!(build_id(&other), None);
        assert_eq!(build_id(&note(3, b"Go\0", &[1])), None);
    }

    #[test]
    fn broken_notes_do_no_harm() {
        let id = note(3, b"GNU\0", &[7; 20]);
        for len in 0..id.len() {
            assert_eq!(build_id(&id[..len]), None);
        }
        assert_eq!(build_id(&[0xff; 64]), None);
    }

    #[test]
    fn an_address_leads_to_its_module() {
        let addresses = [an_address_of_ours(), libc::getpid as *const () as usize, 1];
        let found = of(&addresses);
        let exe = std::fs::read_link("/proc/self/exe").expect("our own path");
        assert_eq!(found[0].map(|module| Path::new(&module.path)), Some(exe.as_path()));
        let libc = found[1].expect("the C library");
        assert!(libc.path.contains("libc.so") && libc.build_id.as_ref().is_some_and(|id| id.len() == 40));
        assert!(found[2].is_none());
    }

    #[test]
    fn a_module_is_not_recorded_for_each_address() {
        let before = MODULES.count();
        let addresses: Vec<_> = (0..100).map(|step| an_address_of_ours() + step % 2).collect();
        of(&addresses);
        // Other tests may record a few at the same time.
        assert!(MODULES.count() - before < 50);
    }

    fn an_address_of_ours() -> usize {
        an_address_of_ours as *const () as usize
    }
}
