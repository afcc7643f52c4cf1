//! The data files that are built in, with the places where their blocks begin.
//!
//! The places are found when the crate is compiled, so that the first question does not pay for
//! a walk through all the data.

use super::file::{File, Slot, block_after, blocks, table};
use super::index::Place;

/// The programs, by theme.
pub(super) const PROGRAMS: &[File] = &[
    program_file!("shells"),
    program_file!("interpreters"),
    program_file!("wrappers"),
    program_file!("builtins"),
    program_file!("privilege"),
    program_file!("vcs"),
    program_file!("text"),
    program_file!("files"),
    program_file!("listing"),
    program_file!("archive"),
    program_file!("editors"),
    program_file!("databases"),
    program_file!("network"),
    program_file!("build"),
    program_file!("system"),
];

/// The blocks of each file as JSON, without their examples, in the order of the file.
pub(super) const JSON: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// Every word that names a program or a subcommand, each on a line of its own.
const WORDS: &str = include_str!(concat!(env!("OUT_DIR"), "/words.txt"));

/// Whether a word names a program or a subcommand.
pub(super) fn is_word(word: &str) -> bool {
    !word.contains('\n') && WORDS.contains(&format!("\n{word}\n"))
}

/// The names in them.
pub(super) static NAMES: [Slot; 4096] = table(PROGRAMS);

/// How many blocks there are.
const BLOCKS: usize = {
    let (mut count, mut files) = (0, PROGRAMS);
    while let [file, rest @ ..] = files {
        count += file.starts.len();
        files = rest;
    }
    count
};

/// A place for each block.
pub(super) static PLACES: [Place; BLOCKS] = [const { Place::new() }; BLOCKS];

/// The variables.
pub(super) const ENVIRONMENT: (&str, &str) =
    ("programs/environment.toml", include_str!("../../../../policies/programs/environment.toml"));

macro_rules! program_file {
    ($theme:literal) => {{
        const TEXT: &str = include_str!(concat!("../../../../policies/programs/", $theme, ".toml"));
        const STARTS: [usize; blocks(TEXT)] = starts(TEXT);
        File { name: concat!("programs/", $theme, ".toml"), text: TEXT, starts: &STARTS }
    }};
}
use program_file;

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error of the compiler"
)]
const fn starts<const COUNT: usize>(text: &str) -> [usize; COUNT] {
    let mut starts = [0; COUNT];
    let (mut found, mut from) = (0, 0);
    while found < COUNT {
        let start = block_after(text, from);
        starts[found] = start;
        found += 1;
        from = start + 1;
    }
    starts
}
