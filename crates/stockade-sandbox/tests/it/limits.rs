//! Resource limits reach the program, and usage comes back.

use std::time::Duration;

use stockade_sandbox::{Rlimits, Spec, Status, start, tasks_on_machine};

use crate::support::{finish, shell};

#[test]
fn every_limit_reaches_the_program() {
    let rlimits = Rlimits {
        cpu_seconds: Some(7),
        address_space_bytes: Some(1 << 30),
        file_size_bytes: Some(1 << 20),
        processes: Some(tasks_on_machine().unwrap() + 10),
        open_files: Some(64),
        core_bytes: Some(0),
        stack_bytes: Some(4 << 20),
    };
    let line = "cat /proc/self/limits";
    let (_, out, _) = finish(&mut start(Spec { rlimits, ..shell(line) }).unwrap());
    let limit = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        let words: Vec<_> = line[name.len()..].split_whitespace().take(2).collect();
        words.join(" ")
    };
    assert_eq!(limit("Max cpu time"), "7 8");
    assert_eq!(limit("Max address space"), "1073741824 1073741824");
    assert_eq!(limit("Max file size"), "1048576 1048576");
    assert_eq!(limit("Max open files"), "64 64");
    assert_eq!(limit("Max core file size"), "0 0");
    assert_eq!(limit("Max stack size"), "4194304 4194304");
}

#[test]
fn a_limit_is_never_raised() {
    let line = "ulimit -Hn";
    let (_, inherited, _) = finish(&mut start(shell(line)).unwrap());
    let rlimits = Rlimits { open_files: Some(u64::MAX), ..Rlimits::default() };
    let (_, out, _) = finish(&mut start(Spec { rlimits, ..shell(line) }).unwrap());
    assert_eq!(out, inherited);
}

#[test]
fn cpu_time_is_limited_and_counted() {
    let rlimits = Rlimits { cpu_seconds: Some(1), ..Rlimits::default() };
    let spec = Spec { rlimits, ..shell("while :; do :; done") };
    let ended = start(spec).unwrap().wait().unwrap();
    assert_eq!(ended.status, Status::Signal(libc::SIGXCPU));
    assert!(ended.cpu > Duration::from_millis(500), "{ended:?}");
    // The kernel counts a limit in ticks, which on a busy machine run ahead of the time used.
    assert!(ended.program_cpu >= Duration::from_millis(500), "{ended:?}");
}

#[test]
fn cpu_time_of_children_is_not_the_programs_own() {
    let line = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; kill -9 $$";
    let ended = start(shell(line)).unwrap().wait().unwrap();
    assert_eq!(ended.status, Status::Signal(libc::SIGKILL));
    assert!(ended.cpu > Duration::from_millis(50), "{ended:?}");
    assert!(ended.program_cpu < ended.cpu / 2, "{ended:?}");
}

#[test]
fn cpu_time_of_an_orphan_is_counted() {
    // The program ends once the orphan has computed something, however long that takes.
    let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo spun; while :; do :; done";
    let line = format!("(setsid sh -c '{spin}' &) | head -n 1");
    let line = line.as_str();
    let ended = start(shell(line)).unwrap().wait().unwrap();
    assert!(ended.cpu > Duration::from_millis(20), "{ended:?}");
}

#[test]
fn peak_memory_is_the_programs_own() {
    let line = "head -c 64M /dev/zero | tail -c 64M > /dev/null";
    let ended = start(shell(line)).unwrap().wait().unwrap();
    assert!(ended.peak_rss_bytes > 60 << 20, "{ended:?}");
    let small = start(shell(":")).unwrap().wait().unwrap();
    assert!(small.peak_rss_bytes < 20 << 20, "{small:?}");
}
