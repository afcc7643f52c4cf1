//! Decides about tool calls and orchestrates their run.

pub mod journal;
pub mod knowledge;
