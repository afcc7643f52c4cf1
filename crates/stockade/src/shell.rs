//! Reads shell lines: what commands are in one, as far as that can be known before it runs.

mod braces;
pub mod builtins;
pub mod expand;
mod fields;
pub mod state;
pub mod tree;
mod parse;

pub use parse::{Fault, FaultKind, Parsed, parse};
