//! One call through the whole pipeline, on this machine: what a run is given, what ends it, what
//! is left of it, and what its report says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]
#![expect(clippy::indexing_slicing, reason = "a field that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "the tests start themselves, and control halves")]

#[macro_use]
#[path = "../shared/messages.rs"]
mod messages;
mod abandoned;
mod absent;
mod broker;
mod code;
mod conversation;
mod cost;
mod disk;
mod environment;
mod evil;
mod faults;
mod files;
mod git;
mod git_links;
mod golden;
mod helper;
mod hooks;
mod jail;
mod journal;
mod late_changes;
mod limits;
mod lines;
mod masked;
mod output;
mod own_files;
mod packages;
mod ports;
mod promises;
mod reach;
mod report;
mod rules;
mod running;
mod scratch;
mod sessions;
mod stdin;
mod support;
mod tools;
mod tree;
mod tree_limits;
mod warm;
mod worktrees;
