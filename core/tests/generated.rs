//! Committed pages that are made from tables must be what the tables say now. `UPDATE_GOLDEN=1` writes them anew.

use std::path::Path;

fn same_as_committed(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("page written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == committed, "{name} is old; run: UPDATE_GOLDEN=1 cargo test -p verbsguard-core --test generated");
}

#[test]
fn rules() {
    same_as_committed("docs/rules.md", &verbsguard_core::rules::markdown());
}

#[test]
fn manual_page_of_the_options() {
    same_as_committed("man/verbsguard-options.7", &verbsguard_core::options::manual());
}

#[test]
fn coverage() {
    same_as_committed("docs/coverage.md", &verbsguard_core::coverage::markdown());
}
