//! The library as its users meet it: the gate on both sides, policies, plans, and the house rules.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::panic, reason = "a helper that cannot go on fails its test")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]

#[macro_use]
#[path = "../shared/messages.rs"]
mod messages;
mod again;
mod architecture;
mod bad_input;
mod cases;
mod gate;
mod home_root;
mod golden;
mod hooks;
mod journal;
mod modes;
mod phrases;
mod plan;
mod policy;
mod project;
mod properties;
mod questions;
mod rules;
mod schema;
mod seed;
mod shell_corpus;
mod shell_judge;
mod shell_quiet;
mod shell_parse;
mod shipped_rules;
mod sources;
mod threat_model;
mod tidy;
mod tools;
mod written;
