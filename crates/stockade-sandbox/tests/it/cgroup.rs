//! Limits for a whole sandbox, where this machine and user have cgroups to set them.

use std::io::{BufRead, BufReader, Write, stderr};
use std::process::Stdio;
use std::time::{Duration, Instant};

use stockade_sandbox::{
    Cgroup, CgroupLimits, Controller, Ended, Errno, Running, Status, Step, landlock_abi,
    start_jailed,
};

use crate::boxes::closed;
use crate::locks_only::{folder, locked};
use crate::roles;
use crate::support::{Mark, PATIENCE, bare, finish, shell, text, within};

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

/// A supervisor to kill: its sandbox is held by a shim and a cgroup alone.
pub(crate) fn supervisor(tree: &str) {
    let folder = folder();
    let mut jail = locked(&folder);
    jail.cgroup =
        Some(Cgroup::create(CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() }));
    let mut spec = shell("setsid sleep 63 & exec setsid -w sleep 64");
    spec.env.push(text(tree));
    let mut run = start_jailed(spec, jail).unwrap();
    roles::say("shim", run.shim_pid().unwrap());
    run.wait().unwrap();
}

/// The next supervisor.
pub(crate) fn maker() {
    let limits = CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() };
    assert_eq!(Cgroup::create(limits).kept(), [Controller::Tasks]);
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
    folders_of(std::process::id())
}

fn folders_of(process: u32) -> usize {
    let own = format!("/stockade-{process}-");
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
    assert_eq!(usage.memory_used_up, Some(true), "{usage:?}");
    assert!(usage.memory_peak_bytes.unwrap() <= LIMIT, "{usage:?}");
    assert!(usage.memory_peak_bytes.unwrap() > LIMIT / 2, "{usage:?}");
}

/// The kernel kills init before there is a program.
#[test]
fn a_box_that_has_no_memory_to_be_made_is_an_error_not_a_run() {
    let limits = CgroupLimits { memory_bytes_max: Some(16 << 10), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Memory) else { return };
    let mut jail = closed("/bin/sh");
    jail.cgroup = Some(cgroup);
    let error = start_jailed(shell("exit 0"), jail).map(drop).unwrap_err();
    let unheard = [Step::AwaitInit, Step::AwaitShim].contains(&error.step);
    assert!(unheard || error.errno == Errno::NOMEM, "{error:?}");
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
    assert!(begin.elapsed() < Duration::from_secs(120));
}

#[test]
fn processor_time_is_shared_out() {
    let limits = CgroupLimits { cpu_millis_per_second: Some(200), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Cpu) else { return };
    let begin = Instant::now();
    let (_, ended, _, err) = run(cgroup, "timeout 1 sh -c 'while :; do :; done'; true");
    assert!(begin.elapsed() >= Duration::from_millis(900), "{err}");
    // A fifth of the time, and what the making of the sandbox took.
    let share = begin.elapsed().mul_f64(0.2).saturating_add(Duration::from_millis(400));
    assert!(ended.cpu < share, "{ended:?} {share:?}");
}

/// Whom nobody waits for, the kernel adds to nobody's children.
#[test]
fn processor_time_of_processes_that_nobody_waited_for_is_counted() {
    let limits = CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Tasks) else { return };
    if cgroup.cpu().is_none() {
        writeln!(stderr().lock(), "skipped: no cgroup counts processor time").unwrap();
        return;
    }
    // A shell that ignores SIGCHLD, and so reaps nobody, but sleeps until they are through.
    let spin = "i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done";
    let line = format!("trap '' CHLD; (sh -c '{spin}; echo spun') & wait; sleep 0.1; true");
    let (run, ended, out, err) = run(cgroup, &line);
    assert_eq!((ended.status, out.trim()), (Status::Code(0), "spun"), "{err}");
    let counted = run.cgroup().unwrap().cpu().unwrap();
    assert!(counted >= ended.cpu, "{counted:?} {ended:?}");
    assert!(counted >= Duration::from_millis(20), "{counted:?}");
}

/// Without an init the tree hangs on its shim; the cgroup is what still holds it.
#[test]
fn a_tree_whose_shim_is_killed_dies_by_its_cgroup() {
    let limits = CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() };
    let Some(cgroup) = limited(limits, Controller::Tasks) else { return };
    let mark = Mark::new();
    if landlock_abi().is_none() {
        writeln!(stderr().lock(), "skipped: no Landlock").unwrap();
        return;
    }
    let folder = folder();
    let mut jail = locked(&folder);
    jail.cgroup = Some(cgroup);
    // In sessions of their own they are not in the program's process group.
    let line = "setsid sleep 1000 & setsid sleep 1000 & wait";
    let mut run = start_jailed(mark.on(shell(line)), jail).unwrap();
    mark.await_found(3);
    bare("kill").args(["-9", &run.shim_pid().unwrap().to_string()]).status().unwrap();
    assert!(run.wait().is_err(), "nobody is left to tell");
    assert!(within(PATIENCE, || mark.found().is_empty()), "{:?}", mark.found());
}

#[test]
fn what_a_killed_supervisor_left_is_removed_by_the_next() {
    let limits = CgroupLimits { tasks_max: Some(20), ..CgroupLimits::default() };
    if limited(limits, Controller::Tasks).is_none() {
        return;
    }
    if landlock_abi().is_none() {
        writeln!(stderr().lock(), "skipped: no Landlock").unwrap();
        return;
    }
    let mark = Mark::new();
    let mut supervisor = roles::command("cgroup-supervisor")
        .env("STOCKADE_TEST_TREE", mark.text())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    let shim = lines.map_while(Result::ok).find(|line| line.starts_with("shim=")).unwrap();
    mark.await_found(2);
    // Its shim first, or that would end the tree itself.
    let shim = shim.trim_start_matches("shim=");
    supervisor.kill().unwrap();
    bare("kill").args(["-9", shim]).status().unwrap();
    let dead = supervisor.id();
    supervisor.wait().unwrap();
    assert!(folders_of(dead) > 0, "a killed supervisor removes nothing");
    let next = roles::command("cgroup-maker").output().unwrap();
    assert!(next.status.success(), "{next:?}");
    assert_eq!(folders_of(dead), 0);
    assert!(within(PATIENCE, || mark.found().is_empty()), "{:?}", mark.found());
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
    assert_ne!(run.cgroup().unwrap().usage().memory_used_up, Some(true));
    // In a namespace of its own the sandbox sees itself at the top.
    assert!(out.lines().all(|line| line.ends_with(":/") || !line.contains("stockade")), "{out}");
    assert!(folders() >= 1);
    drop(run);
    // Other tests have theirs at the same time, but not for long.
    assert!(within(Duration::from_secs(60), || folders() == 0));
}
