//! Reads shell lines: the commands in a line, as far as they can be known before it runs, and the
//! text in it that a reader cannot see. [`catalog`] describes programs.
//!
//! Nothing here touches the system: text goes in, facts come out.
#![forbid(unsafe_code)]

#[cfg(test)]
#[macro_use]
#[path = "../../stockade/tests/shared/messages.rs"]
mod messages;
mod braces;
pub mod builtins;
pub mod evaluated;
pub mod expand;
mod fields;
pub mod invisible;
pub mod catalog;
mod modified;
pub mod operands;
mod parse;
pub mod pattern;
pub mod printed;
mod special;
pub mod state;
mod tool_input;
pub mod ast;
mod crosscheck;

pub use parse::{Fault, FaultKind, ParsedLine};
pub use tool_input::{NoShellInput, ShellInput, launching_field, shell_folder};

/// Quotes a word for a shell where it needs quotes.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    // One that begins with an equals sign is the path of a program to zsh.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Joins words into a line that a shell splits into the same words.
pub fn quoted_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// Reads a line of bash; it is understood only if there are no faults.
pub fn parse(line: &str) -> ParsedLine {
    let mut parsed = parse::parse(line);
    if parsed.faults.is_empty() {
        parsed.faults = crosscheck::hidden(line, &parsed.script);
    }
    // What is shown is whole characters of the line.
    for fault in &mut parsed.faults {
        fault.span.start = line.floor_char_boundary(fault.span.start);
        fault.span.end = line.ceil_char_boundary(fault.span.end);
    }
    parsed
}
