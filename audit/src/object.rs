//! A loaded library, read where the loader mapped it: its name, and its symbols with their version nodes.

use core::ffi::c_char;
use core::marker::PhantomData;
use core::ptr;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the auditor reads 64-bit libraries");

/// The head of glibc's `struct link_map` (link.h).
#[repr(C)]
pub struct LinkMap {
    base: usize,
    path: *const u8,
    dynamic: *const Dynamic,
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: u64,
    value: usize,
}

/// `Elf64_Sym`.
#[repr(C)]
pub struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    /// Where it is defined: in a file against the library's base, in what the loader hands out an address.
    pub value: usize,
    size: u64,
}

/// `Elf64_Verdef`: one version node.
#[repr(C)]
struct Node {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    names: u32,
    next: u32,
}

/// The head of a GNU hash table; the Bloom filter, the buckets and the chains follow.
#[repr(C)]
struct GnuHash {
    buckets: u32,
    first: u32,
    bloom: u32,
    shift: u32,
}

const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_SONAME: u64 = 14;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;

/// In a DT_VERSYM entry: not the default version of its name.
const HIDDEN: u16 = 0x8000;

/// A NUL-terminated string, byte by byte.
#[derive(Clone, Copy)]
pub struct Name<'a>(*const u8, PhantomData<&'a u8>);

impl Name<'_> {
    /// # Safety
    /// `text` is a NUL-terminated string that outlives the name.
    pub unsafe fn new(text: *const c_char) -> Self {
        Name(text.cast(), PhantomData)
    }
}

impl Iterator for Name<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        // SAFETY: at or before the terminating NUL, beyond which this never steps.
        let byte = unsafe { *self.0 };
        if byte == 0 {
            return None;
        }
        self.0 = self.0.wrapping_add(1);
        Some(byte)
    }
}

/// The tables of a library that stays mapped for `'a`. A table that it does not have is null.
pub struct Object<'a> {
    base: usize,
    strings: *const u8,
    symbols: *const Symbol,
    versions: *const u16,
    nodes: *const Node,
    hash: *const GnuHash,
    soname: usize,
    mapped: PhantomData<&'a u8>,
}

impl<'a> Object<'a> {
    /// Reads where the tables are.
    ///
    /// # Safety
    /// `map` is a link map of the loader's, whose library stays mapped for `'a` and is well-formed: the loader itself
    /// trusts the same tables.
    pub unsafe fn new(map: *const LinkMap) -> Object<'a> {
        // SAFETY: the caller's promise.
        let (base, mut entry) = unsafe { ((*map).base, (*map).dynamic) };
        let mut found = Object {
            base,
            strings: ptr::null(),
            symbols: ptr::null(),
            versions: ptr::null(),
            nodes: ptr::null(),
            hash: ptr::null(),
            soname: 0,
            mapped: PhantomData,
        };
        // SAFETY: the dynamic section ends with a null entry.
        while let Dynamic { tag: tag @ 1.., value } = unsafe { &*entry } {
            found.take(*tag, *value);
            entry = entry.wrapping_add(1);
        }
        found
    }

    fn take(&mut self, tag: u64, value: usize) {
        // The loader turns offsets into addresses in place, except where the section is read-only.
        let address = if value < self.base { self.base + value } else { value };
        match tag {
            DT_STRTAB => self.strings = ptr::with_exposed_provenance(address),
            DT_SYMTAB => self.symbols = ptr::with_exposed_provenance(address),
            DT_VERSYM => self.versions = ptr::with_exposed_provenance(address),
            DT_VERDEF => self.nodes = ptr::with_exposed_provenance(address),
            DT_GNU_HASH => self.hash = ptr::with_exposed_provenance(address),
            DT_SONAME => self.soname = value,
            _ => {}
        }
    }

    fn string(&self, offset: usize) -> Name<'a> {
        Name(self.strings.wrapping_add(offset), PhantomData)
    }

    /// DT_SONAME; empty where there is none.
    pub fn soname(&self) -> Name<'a> {
        if self.strings.is_null() { Name(c"".as_ptr().cast(), PhantomData) } else { self.string(self.soname) }
    }

    /// The version node of the symbol at `index` of the symbol table, which must have that many.
    pub fn node(&self, index: usize) -> Option<Name<'a>> {
        if self.versions.is_null() || self.nodes.is_null() {
            return None;
        }
        // SAFETY: DT_VERSYM has an entry for each symbol.
        let wanted = unsafe { *self.versions.wrapping_add(index) } & !HIDDEN;
        let mut node = self.nodes;
        loop {
            // SAFETY: `node` is the first one of DT_VERDEF, or one that another leads to.
            let Node { index, names, next, .. } = *unsafe { &*node };
            // 1 is the library itself: a symbol without a node.
            if index == wanted && wanted > 1 {
                // SAFETY: a node is followed by its names, each of which starts with an offset into the strings.
                let offset = unsafe { *node.wrapping_byte_add(names as usize).cast::<u32>() };
                return Some(self.string(offset as usize));
            }
            if next == 0 {
                return None;
            }
            node = node.wrapping_byte_add(next as usize);
        }
    }

    /// The address of the symbol that is called `name`, a NUL-terminated string, at `node`.
    pub fn find(&self, name: Name<'_>, node: Name<'_>) -> Option<usize> {
        let is_it = |index: usize| {
            let symbol = self.symbol(index);
            let defined = symbol.section != 0 && self.string(symbol.name as usize).eq(name);
            defined && self.node(index).is_some_and(|found| found.eq(node))
        };
        self.bucket(gnu_hash(name)).find(|index| is_it(*index)).map(|index| self.base + self.symbol(index).value)
    }

    fn symbol(&self, index: usize) -> &'a Symbol {
        // SAFETY: an index that came from the library's own hash table.
        unsafe { &*self.symbols.wrapping_add(index) }
    }

    /// The symbols whose names have this hash.
    fn bucket(&self, hash: u32) -> impl Iterator<Item = usize> {
        // SAFETY: null or the library's own table.
        let table = unsafe { self.hash.as_ref() }.filter(|table| table.buckets != 0);
        let mut chain = table.map(|table| {
            let buckets = self.hash.wrapping_add(1).cast::<u64>().wrapping_add(table.bloom as usize).cast::<u32>();
            let hashes = buckets.wrapping_add(table.buckets as usize);
            // SAFETY: one of the table's buckets: the index of its first symbol, or 0.
            let index = unsafe { *buckets.wrapping_add((hash % table.buckets) as usize) };
            Chain { hashes: hashes.wrapping_sub(table.first as usize), index: index as usize }
        });
        core::iter::from_fn(move || chain.as_mut()?.next(hash))
    }
}

/// Where one bucket of a GNU hash table goes on; 0 where it ended.
struct Chain {
    /// By index of symbol.
    hashes: *const u32,
    index: usize,
}

impl Chain {
    /// The next symbol whose name has this hash.
    fn next(&mut self, hash: u32) -> Option<usize> {
        while self.index != 0 {
            let here = self.index;
            // SAFETY: a bucket's symbols follow each other up to the one whose lowest bit is set.
            let found = unsafe { *self.hashes.wrapping_add(here) };
            self.index = if found & 1 == 0 { here + 1 } else { 0 };
            if found | 1 == hash | 1 {
                return Some(here);
            }
        }
        None
    }
}

fn gnu_hash(name: Name<'_>) -> u32 {
    name.fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_void};

    /// The link map of a library of this process.
    fn map(handle: *mut c_void) -> *const LinkMap {
        let mut map: *const LinkMap = ptr::null();
        // SAFETY: a handle of dlopen, and room for one pointer.
        assert_eq!(unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) }, 0);
        map
    }

    fn c_library() -> (*mut c_void, Object<'static>) {
        // SAFETY: the C library is loaded already and stays.
        let handle = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        // SAFETY: as above.
        (handle, unsafe { Object::new(map(handle)) })
    }

    fn name(text: &'static CStr) -> Name<'static> {
        // SAFETY: a static string.
        unsafe { Name::new(text.as_ptr()) }
    }

    #[test]
    fn a_librarys_own_name_is_read() {
        let (_, libc) = c_library();
        assert!(libc.soname().eq(b"libc.so.6".iter().copied()));
    }

    #[test]
    fn a_symbol_is_found_at_its_node_and_at_no_other() {
        let (handle, libc) = c_library();
        let mut nodes = Vec::new();
        for symbol in [c"memcpy", c"getpid", c"fopen", c"pthread_cond_wait", c"dlvsym"] {
            for node in [c"GLIBC_2.2.5", c"GLIBC_2.3.2", c"GLIBC_2.14", c"GLIBC_2.34", c"GLIBC_9"] {
                // SAFETY: a live handle and two strings.
                let theirs = unsafe { libc::dlvsym(handle, symbol.as_ptr(), node.as_ptr()) };
                let ours = libc.find(name(symbol), name(node));
                // What memcpy's address is, only its resolver knows.
                let same = if symbol == c"memcpy" {
                    ours.is_none() == theirs.is_null()
                } else {
                    ours.unwrap_or(0) == theirs.addr()
                };
                assert!(same, "{symbol:?}@{node:?}: {ours:?}, {theirs:?}");
                nodes.extend(ours.map(|_| (symbol, node)));
            }
        }
        assert!(nodes.len() >= 6 && nodes.contains(&(c"memcpy", c"GLIBC_2.2.5")), "{nodes:?}");
    }

    #[test]
    fn a_symbol_that_is_not_there_is_not_found() {
        let (_, libc) = c_library();
        assert_eq!(libc.find(name(c"ibv_alloc_pd"), name(c"GLIBC_2.2.5")), None);
        assert_eq!(libc.find(name(c""), name(c"GLIBC_2.2.5")), None);
    }

    #[test]
    fn an_object_without_tables_has_nothing() {
        let dynamic = [Dynamic { tag: 0, value: 0 }];
        let map = LinkMap { base: 0, path: ptr::null(), dynamic: dynamic.as_ptr() };
        // SAFETY: an object whose dynamic section is empty.
        let empty = unsafe { Object::new(&raw const map) };
        assert_eq!(empty.soname().next(), None);
        assert_eq!(empty.find(name(c"getpid"), name(c"GLIBC_2.2.5")), None);
        assert!(empty.node(1).is_none());
    }
}
