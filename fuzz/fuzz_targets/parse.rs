//! Any text is answered: no panic, no endless loop, and all that is said is about the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stockade::shell::parse;

fuzz_target!(|line: &str| {
    let parsed = parse(line);
    for fault in &parsed.faults {
        assert!(line.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
    }
    for statement in &parsed.script.statements {
        assert!(line.get(statement.span.start..statement.span.end).is_some(), "{statement:?}");
    }
});
