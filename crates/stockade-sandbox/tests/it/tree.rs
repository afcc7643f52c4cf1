//! Nothing of a tree is left: not when the program ends, not when it is killed.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use stockade_sandbox::{Cause, Ended, Rlimits, Spec, Status, start, tasks_on_machine};

use crate::roles::payload;
use crate::support::{Mark, Scope, bare, is_root, shell};

/// Ways to escape a parent. Each line leaves processes behind and goes on.
const ESCAPES: [(&str, &str); 6] = [
    ("background", "sleep 1000 &"),
    ("setsid", "setsid sleep 1000 &"),
    ("double fork", "(setsid sh -c 'sleep 1000 & sleep 1000' &)"),
    ("ignored signals", "(trap '' TERM HUP INT QUIT; sleep 1000) &"),
    ("stopped", "setsid sh -c 'kill -STOP $$; sleep 1000' & sleep 0.05"),
    ("comet", "comet() { comet & }; comet"),
];

/// Long before the thousand seconds for which leftovers sleep, on a machine however busy.
const LONG_BEFORE: Duration = Duration::from_secs(120);

fn run_to_the_end(spec: Spec) -> Ended {
    let mark = Mark::new();
    let ended = start(mark.on(spec)).unwrap().wait().unwrap();
    assert_eq!(mark.found(), [], "left behind");
    assert_eq!(ended.survivors, 0);
    ended
}

fn run_and_kill(spec: Spec) -> Ended {
    let mark = Mark::new();
    let mut run = start(mark.on(spec)).unwrap();
    mark.await_found(2);
    std::thread::sleep(Duration::from_millis(20));
    run.kill().unwrap();
    let ended = run.wait().unwrap();
    assert_eq!(mark.found(), [], "left behind");
    assert_eq!(ended.survivors, 0);
    ended
}

#[test]
fn nothing_is_left_when_the_program_ends() {
    for (name, escape) in ESCAPES {
        for scope in Scope::BOTH {
            let ended = run_to_the_end(scope.apply(shell(&format!("{escape}\nexit 3"))));
            assert_eq!((ended.status, ended.cause), (Status::Code(3), Cause::Exited), "{name}");
        }
    }
}

#[test]
fn nothing_is_left_when_the_program_is_killed() {
    for (name, escape) in ESCAPES {
        for scope in Scope::BOTH {
            let ended = run_and_kill(scope.apply(shell(&format!("{escape}\nsleep 1000"))));
            assert_eq!((ended.status, ended.cause), (Status::Signal(9), Cause::Killed), "{name}");
        }
    }
}

#[test]
fn nothing_is_left_when_the_run_is_dropped() {
    for (_, escape) in ESCAPES {
        let mark = Mark::new();
        let run = start(mark.on(shell(&format!("{escape}\nsleep 1000")))).unwrap();
        mark.await_found(2);
        drop(run);
        assert_eq!(mark.found(), []);
    }
}

#[test]
fn leftovers_are_counted() {
    let ended = run_to_the_end(shell("sleep 1000 & sleep 1000 & (setsid sleep 1000 &) ; exit 0"));
    assert_eq!(ended.leftovers, 3);
}

#[test]
fn a_child_that_ended_in_time_is_no_leftover() {
    let ended = run_to_the_end(shell("sleep 0 & sleep 0 & wait; exit 0"));
    assert_eq!(ended.leftovers, 0);
}

#[test]
fn a_comet_that_changes_sessions_does_not_outrun_the_kill() {
    for scope in Scope::BOTH {
        for _ in 0..5 {
            let begin = Instant::now();
            let ended = run_to_the_end(scope.apply(payload("comet")));
            assert_eq!(ended.status, Status::Code(0));
            assert!(begin.elapsed() < LONG_BEFORE, "{scope:?}: {:?}", begin.elapsed());
        }
    }
}

#[test]
fn a_fork_bomb_is_stopped_at_the_limit() {
    for scope in Scope::BOTH {
        let bomb = Spec {
            processes_max: Some(50),
            rlimits: Rlimits {
                // Room for what other processes of this user start meanwhile.
                processes: Some(tasks_on_machine().unwrap() + 400),
                ..Rlimits::default()
            },
            ..shell("bomb() { bomb & bomb & sleep 1000; }; bomb")
        };
        let ended = run_to_the_end(scope.apply(bomb));
        // Without privileges the kernel may refuse a fork before the shim has counted.
        let refused = (ended.status, ended.cause) == (Status::Code(2), Cause::Exited);
        if is_root() || !refused {
            assert_eq!((ended.status, ended.cause), (Status::Signal(9), Cause::ProcessLimit));
            assert!((40..600).contains(&ended.leftovers), "{ended:?}");
        }
        assert!((1..600).contains(&ended.leftovers), "{ended:?}");
    }
}

#[test]
fn children_of_other_threads_count_as_processes() {
    let spec = payload("thread-children");
    let ended = run_to_the_end(Spec { processes_max: Some(20), ..spec });
    assert_eq!(ended.cause, Cause::ProcessLimit);
}

#[test]
fn as_many_processes_as_allowed_are_allowed() {
    let line = |seconds| format!("for n in 1 2 3 4; do sleep {seconds} & done; wait");
    let ended = run_to_the_end(Spec { processes_max: Some(5), ..shell(&line("0.3")) });
    assert_eq!((ended.status, ended.cause), (Status::Code(0), Cause::Exited));
    let ended = run_to_the_end(Spec { processes_max: Some(4), ..shell(&line("1000")) });
    assert_eq!(ended.cause, Cause::ProcessLimit);
}

#[test]
fn a_grandchild_that_holds_the_pipes_does_not_delay_the_end() {
    let begin = Instant::now();
    run_to_the_end(shell("setsid sleep 1000 & exit 0"));
    assert!(begin.elapsed() < LONG_BEFORE);
}

/// When the suite runs as root, these tests run once more without privileges.
#[test]
fn all_this_holds_for_an_ordinary_user_too() {
    const AGAIN: &str = "STOCKADE_TEST_AGAIN";
    if !is_root() || env::var_os(AGAIN).is_some() {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let copy = folder.path().join("it");
    crate::support::copy_program(env::current_exe().unwrap(), &copy);
    for path in [folder.path(), Path::new(&copy)] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, open).unwrap();
    }
    let mut again = bare("setpriv");
    // A user who runs nothing else: the kernel counts all processes of a user for a limit on them.
    let user = 100_000 + std::process::id();
    again.args([format!("--reuid={user}"), format!("--regid={user}")]);
    again.arg("--clear-groups").arg(&copy);
    again
        .args([
            "tree::",
            "scope::",
            "refusal::",
            "streams::",
            "jail::",
            "root::",
            "locks::",
            "supervisor::",
            "sockets::",
        ])
        .env(AGAIN, "1")
        .current_dir("/");
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("test result: ok"), "{text}");
}
