//! Any text is answered: no panic, no endless loop, and all that is said is about the text.

#![no_main]

#[path = "../src/targets.rs"]
#[expect(dead_code, reason = "each target is a function of it")]
mod targets;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| targets::parse(line));
