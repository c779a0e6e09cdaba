//! From findings to what people and programs read.
//!
//! The way of a finding: [`Reporter::prepare`] (options and suppressions may drop it), [`Tally::admit`] (counts it, and
//! says whether it is to be printed), [`Finding::resolve`](crate::finding::Finding::resolve) (names for its stacks),
//! [`Reporter::render`]. Only the tally changes, so only it needs a lock, and nothing slow happens under that lock.

mod json;
mod pattern;
mod reporter;
pub mod rfc3339;
mod summary;
mod suppress;
mod tally;
mod text;

use textwrap::WordSplitter;

pub use json::SCHEMA;
pub use pattern::{Place, check_pattern, expand};
pub use reporter::Reporter;
pub use summary::Summary;
pub use suppress::Suppressions;
pub use tally::Tally;
pub use text::{Age, Clean};

/// Breaks a paragraph into lines of at most `width`, at spaces only: names with hyphens stay whole.
pub fn fill(text: &str, width: usize) -> String {
    textwrap::fill(text, textwrap::Options::new(width).word_splitter(WordSplitter::NoHyphenation))
}
