//! Reads shell lines: what commands are in one, as far as that can be known before it runs.

pub mod tree;
