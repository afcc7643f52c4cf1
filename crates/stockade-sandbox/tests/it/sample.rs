//! What a tree uses, added up without a cgroup.

use std::time::Duration;

use stockade_sandbox::start;

use crate::support::{PATIENCE, shell, within};

const MIB: u64 = 1 << 20;

/// The three `tail`s keep 20 MiB each, of one line that never ends.
const HOARDERS: &str =
    "hoard() { { head -c 20M /dev/zero; sleep 600; } | tail -n 1; }; hoard & hoard & hoard & wait";

#[test]
fn the_memory_of_all_processes_is_added_up() {
    let run = start(shell(HOARDERS)).unwrap();
    let grown = || run.memory_bytes() > 60 * MIB;
    assert!(within(PATIENCE, grown), "{} {:?}", run.memory_bytes(), run.sample());
    let (sample, shared) = (run.sample(), run.memory_bytes());
    assert!(sample.processes >= 7, "{sample:?}");
    assert!(shared <= sample.resident_bytes, "{shared} {sample:?}");
}

#[test]
fn the_processor_time_of_all_processes_is_added_up() {
    let spin = "while :; do :; done";
    let run = start(shell(&format!("({spin}) & ({spin}) & wait"))).unwrap();
    let spent = || run.sample().cpu > Duration::from_millis(300);
    assert!(within(PATIENCE, spent), "{:?}", run.sample());
}
