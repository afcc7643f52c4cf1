//! Reads shell lines: what commands are in one, as far as that can be known before it runs, and
//! what in one is not seen.

mod braces;
pub mod builtins;
pub mod evaluated;
pub mod expand;
mod fields;
pub mod hidden;
mod modified;
pub mod operands;
mod parse;
pub(crate) mod printed;
mod special;
pub mod state;
mod tool_input;
pub mod tree;
mod tripwire;

pub use parse::{Fault, FaultKind, Parsed};
pub use tool_input::{NoShellInput, ShellInput, shell_folder};

/// A word as a shell reads it back: in quotes where it needs them.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    // One that begins with an equals sign is the path of a program to zsh.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads a line of bash; it is understood only if there are no faults.
pub fn parse(line: &str) -> Parsed {
    let mut parsed = parse::parse(line);
    if parsed.faults.is_empty() {
        parsed.faults = tripwire::hidden(line, &parsed.script);
    }
    // What is shown is whole characters of the line.
    for fault in &mut parsed.faults {
        fault.span.start = line.floor_char_boundary(fault.span.start);
        fault.span.end = line.ceil_char_boundary(fault.span.end);
    }
    parsed
}
