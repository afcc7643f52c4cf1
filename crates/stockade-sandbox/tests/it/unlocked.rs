//! Programs of the host's own, which make sandboxes themselves: held by a shim, limited by a
//! cgroup, and locked by nothing.

use std::fs;
use std::io::{Write as _, stderr};

use stockade_sandbox::{Cgroup, CgroupLimits, Controller, Jail, Spec, Status, start, start_jailed};

use crate::support::{finish, shell, text};

const STATUS: &str = "grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status";

/// A scope for signals forbids new privileges too.
fn free(line: &str) -> Spec {
    Spec { signal_scope: None, ..shell(line) }
}

fn unlocked() -> Jail {
    Jail::unlocked(&text("/bin/sh"))
}

#[test]
fn keeps_the_privileges_that_the_host_has() {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let line = |name: &str| own.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let expected = format!("{}\n{}\n", line("CapBnd"), line("NoNewPrivs"));
    let (_, seen, _) = finish(&mut start_jailed(free(STATUS), unlocked()).unwrap());
    assert_eq!(seen, expected);
    // The nearest that does not: the same program, started as others are.
    let (_, seen, _) = finish(&mut start(shell(STATUS)).unwrap());
    assert!(seen.contains("NoNewPrivs:\t1"));
}

#[test]
fn enters_its_cgroup_and_ends_as_a_whole() {
    let limits = CgroupLimits { tasks_max: Some(200), ..CgroupLimits::default() };
    let cgroup = Cgroup::create(limits);
    if !cgroup.kept().contains(&Controller::Tasks) {
        writeln!(stderr().lock(), "skipped: no cgroup for tasks").unwrap();
        return;
    }
    let mut jail = unlocked();
    jail.cgroup = Some(cgroup);
    let mut running = start_jailed(free("sleep 1000 & cat /proc/self/cgroup"), jail).unwrap();
    let (ended, seen, _) = finish(&mut running);
    assert_eq!((ended.status, ended.leftovers, ended.survivors), (Status::Code(0), 1, 0));
    assert!(seen.contains("stockade"), "{seen}");
}
