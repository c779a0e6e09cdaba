//! Where the options come from: the program's own defaults, then the environment.

use std::ffi::{CStr, c_char};

use verbsguard_core::options::Options;
use verbsguard_core::report::Suppressions;

/// Option strings, the weakest first.
pub fn sources() -> Vec<String> {
    let environment = secure_environment(c"VERBSGUARD_OPTIONS");
    [program_defaults(), environment].into_iter().flatten().collect()
}

/// An environment variable, or None in a program with raised privileges (secure_getenv(3)).
pub fn secure_environment(name: &CStr) -> Option<String> {
    unsafe extern "C" {
        fn secure_getenv(name: *const c_char) -> *const c_char;
    }
    // SAFETY: a NUL-terminated name; the answer is null or a NUL-terminated string of the environment.
    let value = unsafe {
        let value = secure_getenv(name.as_ptr());
        if value.is_null() { None } else { Some(CStr::from_ptr(value)) }
    };
    value.map(|value| value.to_string_lossy().into_owned())
}

/// What the program compiled in: `const char *verbsguard_default_options(void)`.
fn program_defaults() -> Option<String> {
    type F = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: looking a name up in the global scope.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"verbsguard_default_options".as_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: the header gives the function this type; it answers null or a NUL-terminated string.
    let text = unsafe {
        let function = std::mem::transmute::<*mut std::ffi::c_void, F>(found);
        let text = function();
        if text.is_null() { None } else { Some(CStr::from_ptr(text)) }
    };
    text.map(|text| text.to_string_lossy().into_owned())
}

/// The suppressions of the file that the options name, and what is wrong with it.
pub fn suppressions(options: &Options) -> (Suppressions, Vec<String>) {
    let Some(path) = &options.suppressions else { return (Suppressions::default(), Vec::new()) };
    match std::fs::read_to_string(path) {
        Ok(text) => Suppressions::parse(&text),
        Err(error) => {
            let complaint = format!("option 'suppressions': cannot read {}: {error}", path.display());
            (Suppressions::default(), vec![complaint])
        }
    }
}
