//! The command line: talks, and is the only crate that prints.
fn main() {}
