//! The end of a run is the end of its whole tree, however it hides.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Project, has, kept, marked, marker, text, unboxed, within};

const DEADLINE: Duration = Duration::from_millis(700);

/// Runs a script past its deadline: all that it started must be gone with it.
fn ends_with_its_deadline(script: &str) -> Value {
    let project = Project::new();
    let marker = marker();
    let start = Instant::now();
    let report = project.sh(within(DEADLINE), script, &[&marker]);
    let took = start.elapsed();
    assert_eq!(marked(&marker), Vec::<i32>::new(), "{report}");
    assert_eq!(report["timed_out"], true, "{report}");
    assert_eq!(report["limit"], "wall", "{report}");
    assert_eq!(report["exit_code"], -101, "{report}");
    assert_eq!(kept(&report, "processes"), "partial", "{report}");
    assert!(text(&report, "reason").contains(message!("report.wall-clock-timeout")), "{report}");
    assert!(took >= DEADLINE && took < DEADLINE + Duration::from_secs(120), "{took:?}");
    report
}

#[test]
fn a_program_that_sleeps_is_ended() {
    ends_with_its_deadline("exec sleep $1\n");
}

#[test]
fn grandchildren_are_ended() {
    ends_with_its_deadline("(sleep $1; true) &\n(sh -c 'sleep $1; true' x $1; true) &\nsleep $1\n");
}

#[test]
fn a_session_of_its_own_is_ended() {
    ends_with_its_deadline("setsid sleep $1 &\nsetsid -f sleep $1\nsleep $1\n");
}

#[test]
fn a_daemon_is_ended() {
    ends_with_its_deadline(
        "(nohup setsid sleep $1 >/dev/null 2>&1 &) &\nnohup sh -c 'setsid sleep $1 & exit' x $1 &\n\
         sleep $1\n",
    );
}

#[test]
fn a_program_that_ignores_signals_is_ended() {
    ends_with_its_deadline(
        "trap '' TERM INT HUP QUIT XCPU\nsleep $1 &\nwhile :; do sleep $1; done\n",
    );
}

#[test]
fn a_program_that_has_stopped_is_ended() {
    ends_with_its_deadline("sleep $1 &\nkill -STOP $!\nkill -STOP $$\nsleep $1\n");
}

#[test]
fn what_is_left_over_is_ended_when_the_program_ends() {
    let project = Project::new();
    let marker = marker();
    let script =
        "sleep $1 &\nsetsid sleep $1 &\n(nohup setsid sleep $1 >/dev/null 2>&1 &)\necho started\n";
    let start = Instant::now();
    let report = project.sh(unboxed(), script, &[&marker]);
    assert_eq!(marked(&marker), Vec::<i32>::new(), "{report}");
    assert_eq!((text(&report, "stdout"), &report["exit_code"]), ("started\n", &0.into()));
    assert!(start.elapsed() < Duration::from_secs(120));
}

/// The control half: without Stockade such a process stays.
#[test]
fn control_a_process_in_a_session_of_its_own_outlives_a_plain_child() {
    let project = Project::new();
    let marker = marker();
    project.script("daemon.sh", "setsid sleep $1 >/dev/null 2>&1 &\n");
    let script = project.path("daemon.sh");
    let status = std::process::Command::new("sh").arg(script).arg(&marker).status().unwrap();
    assert!(status.success());
    let mut left = Vec::new();
    assert!(crate::support::eventually(Duration::from_secs(60), || {
        left = marked(&marker);
        !left.is_empty()
    }));
    for pid in left {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn returns_at_once_though_a_grandchild_holds_the_pipes() {
    let project = Project::new();
    let marker = marker();
    let report = project.sh(unboxed(), "sleep $1 &\necho started\nexit 7\n", &[&marker]);
    assert_eq!((text(&report, "stdout"), &report["exit_code"]), ("started\n", &7.into()));
    let wall = report["usage"]["wall_ms"].as_f64().unwrap();
    // Not as late as the grandchild would let it go.
    assert!(wall < 120_000.0, "{wall} ms");
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn a_process_outside_cannot_be_signalled_from_inside() {
    if !stockade::launch::probe().signal_scope {
        crate::support::skip("landlock-v6", "this kernel has no scope for signals");
        return;
    }
    let project = Project::new();
    let marker = marker();
    let mut victim = std::process::Command::new("sleep").arg(&marker).spawn().unwrap();
    let pid = victim.id().to_string();
    let script = "kill -9 $1 && echo killed\nkill -9 -1\necho alive\n";
    let report = project.sh(unboxed(), script, &[&pid]);
    let survived = victim.try_wait().unwrap().is_none();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(survived, "{report}");
    assert!(!text(&report, "stdout").contains("killed"), "{report}");
}

#[test]
fn a_tree_that_forks_without_end_cannot_outrun_its_end() {
    let script = "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.time() + 30
while time.time() < end:
    # Each process lives for a moment only: its child goes on.
    if os.fork():
        os._exit(0) if os.getpid() != FIRST else time.sleep(0.001)
"
    .replace("FIRST", "os.getsid(0)");
    if !has("python3") {
        return;
    }
    let project = Project::new();
    let marker = marker();
    let report = project.python(within(DEADLINE), &script, &[&marker]);
    assert_eq!(marked(&marker), Vec::<i32>::new(), "{report}");
    assert_ne!(kept(&report, "processes"), "lost", "{report}");
}
