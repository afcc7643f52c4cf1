//! Reads shell lines: what commands are in one, as far as that can be known before it runs, and
//! what in one is not seen.

mod braces;
pub mod builtins;
pub mod expand;
mod fields;
pub mod hidden;
mod parse;
pub mod state;
pub mod tree;
mod tripwire;

pub use parse::{Fault, FaultKind, Parsed, parse};
