//! JSON that an agent sends to a hook, or that its settings hold, and the reader of the command line.

#![no_main]

#[path = "../src/targets.rs"]
#[expect(dead_code, reason = "each target is a function of it")]
mod targets;

#[path = "../../crates/stockade-cli/src/hook/event.rs"]
#[rustfmt::skip] // It has tests, which are found from its own crate only.
mod event;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    targets::hook(bytes);
    let kind = event::Event::kind_in(bytes);
    if let Ok(event::Event::Tool(read)) = event::Event::parse(bytes) {
        assert!(!read.tool.is_empty() && kind == Some(read.kind), "{read:?}");
    }
});
