//! The text of a rule, in each list.

#![no_main]

#[path = "../src/targets.rs"]
#[expect(dead_code, reason = "each target is a function of it")]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| targets::rule(text));
