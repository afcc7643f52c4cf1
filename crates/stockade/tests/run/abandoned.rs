//! Boxes whose host goes away, in whichever way: nothing of them is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use stockade::gate::{Examiner, Gate, Verdict};
use stockade::inspect::Root;
use stockade::journal::{Durability, Journal};
use stockade::launch::{self, Run};
use stockade::plan::Plan;
use stockade::{Policy, ToolCall};

use crate::helper::Helper;
use crate::support::{Project, eventually, exec, marked, marker, names_in, skip};

const SCRIPT: &str = "trap '' TERM HUP INT\nsleep $1 &\nsetsid sleep $1 &\n\
                      (nohup setsid sleep $1 >/dev/null 2>&1 &)\nsleep $1\n";

/// A project for boxes with the script in it, if this machine can make a box.
fn project() -> Option<Project> {
    let project = Project::new();
    project.script("many.sh", SCRIPT);
    let report = project.run_with(Policy::shipped(), exec(&["true"]));
    if report["ok"] != true {
        skip("userns", &format!("no box can be made here: {}", report["failure"]["message"]));
        return None;
    }
    Some(project)
}

/// A box with a tree in it that does not end by itself.
fn running(project: &Project, marker: &str) -> Run {
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let root = Root::open(&project.root()).unwrap();
    let gate = Gate::new(Examiner::new(root, Policy::shipped()), journal);
    let permit = match gate.judge(&ToolCall::exec(["sh", "many.sh", marker])) {
        Verdict::Allowed(permit) => Some(*permit),
        Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
    };
    let plan = Plan::new(permit.unwrap(), launch::probe()).unwrap();
    let cold = launch::WarmState::cold();
    let running = launch::start(plan, &cold).unwrap();
    let all = eventually(Duration::from_secs(30), || marked(marker).len() >= 5);
    assert!(all, "{:?}", marked(marker));
    running
}

#[track_caller]
fn nothing_is_left(marker: &str) {
    let gone = eventually(Duration::from_secs(60), || marked(marker).is_empty());
    assert!(gone, "{:?} are left", marked(marker));
}

#[test]
fn a_run_that_is_dropped_ends_its_box() {
    let Some(project) = project() else { return };
    let marker = marker();
    drop(running(&project, &marker));
    nothing_is_left(&marker);
}

#[test]
fn a_host_that_panics_ends_its_box() {
    let Some(project) = project() else { return };
    let marker = marker();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _running = running(&project, &marker);
        std::panic::resume_unwind(Box::new("the host is lost"));
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"the host is lost"));
    nothing_is_left(&marker);
}

#[test]
fn a_thread_that_panics_while_it_waits_for_another_ends_both() {
    let Some(project) = project() else { return };
    let (one, other) = (marker(), marker());
    let thread = std::thread::scope(|scope| {
        let held = scope.spawn(|| {
            let _first = running(&project, &one);
            let _second = running(&project, &other);
            std::panic::resume_unwind(Box::new(()));
        });
        held.join().is_err()
    });
    assert!(thread);
    nothing_is_left(&one);
    nothing_is_left(&other);
}

#[test]
fn a_host_that_is_killed_takes_its_box_and_its_cgroups_with_it() {
    let Some(project) = project() else { return };
    let marker = marker();
    let mut host = Helper::new("run-boxed", &project, &["sh", "many.sh", &marker]).start();
    let all = eventually(Duration::from_secs(30), || marked(&marker).len() >= 5);
    assert!(all, "{:?}", marked(&marker));
    let cgroups: Vec<_> = marked(&marker).into_iter().flat_map(cgroups_of).collect();
    let host_id = host.id();
    host.kill();
    nothing_is_left(&marker);
    // Boxes that wait for a next call go too.
    let gone = eventually(Duration::from_secs(60), || in_cgroups_of(host_id).is_empty());
    assert!(gone, "{:?} are left", in_cgroups_of(host_id));
    // What the kernel does not remove by itself, the next host does.
    assert_eq!(Helper::new("run-boxed", &project, &["true"]).answer()["ok"], true);
    let left: Vec<_> =
        cgroups.iter().filter(|folder| Path::new(folder.as_str()).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The processes in cgroups that this host has made.
fn in_cgroups_of(host: u32) -> Vec<i32> {
    let name = format!("/stockade-{host}-");
    let is_inside = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
            .is_ok_and(|text| text.contains(&name))
    };
    let numbers = names_in(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
    numbers.filter(is_inside).collect()
}

/// The folders of a process's cgroups that a box has made, by the usual place of hierarchies.
fn cgroups_of(pid: i32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let folder = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        let hierarchy = if names.is_empty() { "unified" } else { names };
        let is_ours = path.rsplit('/').next().is_some_and(|name| name.contains("stockade"));
        is_ours.then(|| format!("/sys/fs/cgroup/{hierarchy}{path}"))
    };
    text.lines().filter_map(folder).collect()
}
