use super::*;

fn c_library() -> Loaded {
    Loaded::at(libc::getpid as *const () as usize).expect("getpid lies in a library")
}

#[test]
fn an_address_leads_to_its_library() {
    let name = c_library().path();
    assert!(name.ends_with("libc.so.6"), "{}", name.display());
    let local = 7u64;
    assert_eq!(Loaded::at(std::ptr::from_ref(&local).addr()), None, "the stack is no library");
    assert_eq!(Loaded::at(8), None);
}

#[test]
fn a_library_is_asked_for_a_function_at_its_node() {
    let getpid = |node| c_library().ask(Symbol { name: c"getpid", node });
    assert_eq!(getpid(c"GLIBC_2.2.5").and_then(Loaded::at), Some(c_library()));
    assert_eq!(getpid(c"IBVERBS_1.1"), None);
}

#[test]
fn a_library_that_is_no_copy_is_none() {
    for provider in [Provider::Verbs, Provider::Mlx5] {
        assert!(!c_library().is_of(provider));
        assert_eq!(of_address(provider, libc::getpid as *const () as usize), None);
    }
}

#[test]
fn what_is_no_context_and_no_device_has_no_copy() {
    // Code addresses all over, none of a copy's: as long as a context and what is before it.
    let words = [libc::getpid as *const () as usize; 256];
    let middle = std::ptr::from_ref(&words[128]).addr();
    for provider in [Provider::Verbs, Provider::Mlx5] {
        for address in [middle, 0, 8, usize::MAX] {
            assert_eq!(of_context(provider, address, word), None, "{address:#x}");
            assert_eq!(of_object(provider, address), None, "{address:#x}");
            assert_eq!(of_device(provider, address), None, "{address:#x}");
        }
    }
}

#[test]
fn a_list_that_never_ends_is_left() {
    let mut words = [0usize; 128];
    let entry = offset_of!(VerbsDevice, entry) / size_of::<usize>();
    words[entry] = std::ptr::from_ref(&words[entry]).addr();
    assert_eq!(of_device(Provider::Verbs, words.as_ptr().addr()), None);
}
