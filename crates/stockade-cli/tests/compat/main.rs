//! Real work in the jail, as a person would run it: languages, compilers and tools, each with a
//! result that is checked, as the caller and, where the caller is root, as an ordinary user too.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::indexing_slicing, reason = "a field that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "the tests start stockade itself")]

mod git;
mod languages;
mod others;
mod rust;
mod support;
mod toolchains;
