//! Limits for a whole box, where this machine and user have cgroups to set them.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use stockade_linux::{
    Cgroup, CgroupLimits, Controller, Ended, Errno, Running, Status, Step, start_jailed,
};

use crate::boxes::closed;
use crate::support::{bare, finish, shell};

fn limited(limits: CgroupLimits, controller: Controller) -> Option<Cgroup> {
    let cgroup = Cgroup::create(limits);
    if cgroup.kept() == [controller] {
        return Some(cgroup);
    }
    assert_eq!(cgroup.missing().len(), 1, "what is not kept is missing, with a reason");
    writeln!(stderr().lock(), "skipped: no cgroup for {controller}: {:?}", cgroup.missing())
        .unwrap();
    None
}

fn run(cgroup: Cgroup, line: &str) -> (Running, Ended, String, String) {
    let mut jail = closed("/bin/sh");
    jail.cgroup = Some(cgroup);
    let mut run = start_jailed(shell(line), jail).unwrap();
    let (ended, out, err) = finish(&mut run);
    (run, ended, out, err)
}

/// How many cgroups of this process there are.
pub(crate) fn folders() -> usize {
    let own = format!("/stockade-{}-", std::process::id());
    let listed = bare("find").args(["/sys/fs/cgroup", "-type", "d"]).output().unwrap().stdout;
    String::from_utf8(listed).unwrap().lines().filter(|path| path.contains(&own)).count()
}

#[test]
fn a_memory_eater_is_killed_and_the_count_says_so() {
    const LIMIT: u64 = 32 << 20;
    let limits = CgroupLimits { memory_bytes_max: Some(LIMIT), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Memory) else { return };
    // `tail` keeps a line that never ends; `exec` makes it the program.
    let (run, ended, _, _) = run(cgroup, "exec tail -n 1 /dev/zero");
    let usage = run.cgroup().unwrap().usage();
    assert_eq!(ended.status, Status::Signal(9), "{usage:?}");
    assert!(usage.oom_kills.unwrap() >= 1, "{usage:?}");
    assert!(usage.memory_peak_bytes.unwrap() <= LIMIT, "{usage:?}");
    assert!(usage.memory_peak_bytes.unwrap() > LIMIT / 2, "{usage:?}");
}

/// The kernel kills the first process before there is a program.
#[test]
fn a_box_that_has_no_memory_to_be_made_is_an_error_not_a_run() {
    let limits = CgroupLimits { memory_bytes_max: Some(16 << 10), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Memory) else { return };
    let mut jail = closed("/bin/sh");
    jail.cgroup = Some(cgroup);
    let error = start_jailed(shell("exit 0"), jail).map(drop).unwrap_err();
    assert!(error.step == Step::HearFirst || error.errno == Errno::NOMEM, "{error:?}");
}

#[test]
fn files_in_memory_count_as_memory() {
    let limits = CgroupLimits { memory_bytes_max: Some(24 << 20), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Memory) else { return };
    let (run, ended, out, _) = run(cgroup, "dd if=/dev/zero of=/tmp/x bs=1M count=60; echo done");
    let usage = run.cgroup().unwrap().usage();
    let killed = usage.oom_kills.unwrap() >= 1;
    assert!(killed, "{ended:?} {out} {usage:?}");
}

#[test]
fn a_fork_bomb_meets_its_limit_in_the_kernel() {
    let limits = CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Tasks) else { return };
    let begin = Instant::now();
    let (run, _, _, _) = run(cgroup, "bomb() { bomb & bomb & }; bomb; sleep 0.2");
    let usage = run.cgroup().unwrap().usage();
    assert!(usage.forks_refused.is_none_or(|refused| refused > 0), "{usage:?}");
    assert!(usage.tasks_peak.is_none_or(|peak| peak <= 21), "{usage:?}");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn processor_time_is_shared_out() {
    let limits = CgroupLimits { cpu_millis_per_second: Some(200), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Cpu) else { return };
    let begin = Instant::now();
    let (_, ended, _, err) = run(cgroup, "timeout 1 sh -c 'while :; do :; done'; true");
    assert!(begin.elapsed() >= Duration::from_millis(900), "{err}");
    assert!(ended.cpu < Duration::from_millis(600), "{ended:?}");
}

#[test]
fn no_cgroup_is_left_and_a_box_that_is_within_its_limits_ends_well() {
    let limits = CgroupLimits {
        memory_bytes_max: Some(256 << 20),
        tasks_max: Some(64),
        cpu_millis_per_second: Some(1500),
    };
    let cgroup = Cgroup::create(limits);
    if cgroup.kept().is_empty() {
        return;
    }
    let (run, ended, out, err) = run(cgroup, "cat /proc/self/cgroup; exit 4");
    assert_eq!(ended.status, Status::Code(4), "{err}");
    // In a namespace of its own the box sees itself at the top.
    assert!(out.lines().all(|line| line.ends_with(":/") || !line.contains("stockade")), "{out}");
    assert!(folders() >= 1);
    drop(run);
    // Other tests have theirs at the same time, but not for long.
    assert!(crate::support::within(Duration::from_secs(20), || folders() == 0));
}
