//! What a fault leaves behind: nothing.

use std::time::Duration;

use serde_json::json;

use crate::helper::Helper;
use crate::support::{Project, eventually, marked, marker, names_in};

#[test]
fn nothing_outlives_a_killed_supervisor() {
    let project = Project::new();
    let marker = marker();
    project.script(
        "many.sh",
        "trap '' TERM HUP INT\nsleep $1 &\nsetsid sleep $1 &\n(nohup setsid sleep $1 >/dev/null 2>&1 &)\n\
         sleep $1 & kill -STOP $!\nsleep $1\n",
    );
    let mut supervisor = Helper::new("run", &project, &["sh", "many.sh", &marker]).start();
    // The script itself, five sleeps, and the supervisor whose environment is no argument.
    let all = eventually(Duration::from_secs(30), || marked(&marker).len() >= 6);
    assert!(all, "{:?}", marked(&marker));
    supervisor.kill();
    let gone = eventually(Duration::from_secs(60), || marked(&marker).is_empty());
    assert!(gone, "{:?} outlived their supervisor", marked(&marker));
}

/// The control half: a plain parent takes nobody with it.
#[test]
fn control_a_child_outlives_a_plain_parent_that_is_killed() {
    let project = Project::new();
    let marker = marker();
    let mut parent = Helper::new("control", &project, &["sleep", &marker]).start();
    assert!(eventually(Duration::from_secs(30), || !marked(&marker).is_empty()));
    parent.kill();
    let left = marked(&marker);
    assert!(!left.is_empty());
    for pid in left {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn two_hundred_calls_at_once_leak_no_descriptor_process_or_folder() {
    let project = Project::new();
    let marker = marker();
    project.script("busy.sh", "echo x > $HOME/file\nsleep $1 &\nsetsid sleep $1 &\necho done\n");
    let answer = Helper::new("crowd", &project, &["sh", "busy.sh", &marker]).answer();
    assert_eq!(answer["failed"], 0, "{answer}");
    assert_eq!(answer["after"], answer["before"]);
    assert_eq!(answer["children"], json!(""));
    assert_eq!(marked(&marker), Vec::<i32>::new());
    let bases = names_in(project.runtime());
    let left: Vec<String> =
        bases.iter().flat_map(|base| names_in(&project.runtime().join(base))).collect();
    assert_eq!(left, Vec::<String>::new());
    let summary = stockade::journal::audit::verify(&project.journal()).unwrap();
    assert_eq!(summary.entries, 2 * 202);
}
