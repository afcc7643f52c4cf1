//! The command line as a shell sees it: what it prints, where, and with which exit status.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]
#![expect(clippy::indexing_slicing, reason = "a report that lacks a field fails the test")]
#![expect(clippy::disallowed_methods, reason = "the tests start stockade itself")]

#[macro_use]
#[path = "../../../stockade/tests/shared/messages.rs"]
mod messages;
mod again;
mod agents;
mod ask;
mod audit;
mod box_lists;
mod call;
mod check;
mod closed_folders;
mod conversation;
mod demo;
mod doctor;
mod ended;
mod escape;
mod files;
mod fuzz;
mod home_root;
mod golden;
mod hooks;
mod hook;
mod install;
mod journal;
mod locked;
mod many;
mod many_sessions;
mod memory;
mod own_files;
mod pipes;
mod poorer;
mod policy;
mod ports;
mod rules;
mod run;
mod sessions;
mod shell;
mod short;
mod signals;
mod streams;
mod support;
mod terminals;
mod tools;
mod trust;
mod try_it;
mod usage;
mod words;
