//! The three evil tools in the jail: an endless loop, a memory eater and a fork bomb. Each ends in its
//! limit, the machine stays usable meanwhile, and the next call works.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use stockade::Policy;
use stockade::limits::ByteCount;

use crate::jail::{jailed, project};
use crate::support::{
    Project, eventually, exec, has, json, kept, marked, marker, skip, tell, text,
};

/// Runs an evil tool, and a plain program of the machine again and again beside it.
#[track_caller]
fn endured(project: &Project, name: &str, policy: Policy, script: &str) -> Value {
    project.script("evil.py", script);
    let stockade = project.open(policy);
    let spawned = || {
        let started = Instant::now();
        assert!(Command::new("/bin/true").status().unwrap().success());
        started.elapsed()
    };
    let alone = (0..10).map(|_| spawned()).max().unwrap();
    let mut beside = Vec::new();
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["python3", "evil.py"]))));
        while !run.is_finished() || beside.is_empty() {
            beside.push(spawned());
            std::thread::sleep(Duration::from_millis(10));
        }
        run.join().unwrap()
    });
    beside.sort_unstable();
    let (median, worst) = (beside[beside.len() / 2], beside[beside.len() - 1]);
    tell(&format!("measured: beside the {name} a spawn takes {median:.1?}, at worst {worst:.1?}"));
    // On a machine that others keep busy a spawn takes longer without it, too.
    assert!(median < 10 * alone + Duration::from_secs(5), "{alone:?} alone: {beside:?}");
    assert!(worst < 100 * alone + Duration::from_secs(60), "{alone:?} alone: {beside:?}");
    let next = project.run_with(jailed(|_| {}), exec(&["echo", "next"]));
    assert_eq!(text(&next, "stdout"), "next\n", "{next}");
    report
}

fn ready() -> Option<Project> {
    project().filter(|_| has("python3"))
}

#[test]
fn the_endless_loop_ends_by_the_deadline_or_by_its_cpu_time() {
    let Some(project) = ready() else { return };
    let script = "while True:\n    pass\n";
    let policy = jailed(|policy| policy.limits.wall = Duration::from_secs(1));
    let report = endured(&project, "endless loop", policy, script);
    assert_eq!(
        (&report["limit"], &report["timed_out"]),
        (&"wall".into(), &true.into()),
        "{report}"
    );
    assert_eq!(report["exit_code"], -101);
    let policy = jailed(|policy| policy.limits.cpu = Some(Duration::from_secs(1)));
    let report = endured(&project, "endless loop", policy, script);
    assert_eq!((&report["limit"], &report["signal"]), (&"cpu".into(), &24.into()), "{report}");
}

#[test]
fn the_memory_eater_ends_by_its_memory() {
    let Some(project) = ready() else { return };
    let policy = jailed(|policy| policy.limits.memory = Some(ByteCount::mib(256)));
    let report =
        endured(&project, "memory eater", policy, "x = bytearray(10 ** 10)\nprint(len(x))\n");
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("", &false.into()), "{report}");
    if kept(&report, "tree_limits") == "full" {
        let hit = (&report["limit"], &report["signal"]);
        assert_eq!(hit, (&"memory".into(), &9.into()), "{report}");
        let peak = report["usage"]["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak <= 256 << 20, "{report}");
    } else {
        // There the process is told, and ends by itself.
        skip("cgroup", "there is no cgroup for this user, so that no limit of the tree is hit");
        assert!(text(&report, "stderr").contains("MemoryError"), "{report}");
        assert_eq!((&report["limit"], &report["exit_code"]), (&Value::Null, &1.into()), "{report}");
    }
}

#[test]
fn the_fork_bomb_ends_by_its_processes() {
    let Some(project) = ready() else { return };
    let script =
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n";
    let policy = jailed(|policy| policy.limits.processes = Some(48));
    let report = endured(&project, "fork bomb", policy, script);
    assert_eq!(report["limit"], "processes", "{report}");
    assert!(report["usage"]["wall_ms"].as_f64().unwrap() < 60_000.0, "{report}");
}

/// The target is 50 ms; a busy machine gets more.
#[test]
fn a_tree_is_dead_soon_after_its_deadline() {
    let Some(project) = ready() else { return };
    let mark = marker();
    let script = format!(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         for n in range(60):\n    if os.fork() == 0:\n        os.setsid()\n        \
         os.execvp('sleep', ['sleep', '{mark}'])\nwhile True:\n    pass\n"
    );
    project.script("tree.py", &script);
    // Long enough for sixty processes on a machine that has other things to do.
    let wall = Duration::from_secs(15);
    let stockade = project.open(jailed(|policy| policy.limits.wall = wall));
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["python3", "tree.py"]))));
        assert!(eventually(wall, || marked(&mark).len() == 60), "the tree is there");
        run.join().unwrap()
    });
    assert_eq!(marked(&mark), Vec::<i32>::new(), "the whole tree is dead: {report}");
    assert_eq!(report["limit"], "wall", "{report}");
    let late = report["usage"]["wall_ms"].as_f64().unwrap() - wall.as_secs_f64() * 1000.0;
    tell(&format!("measured: a tree of 61 is dead {late:.1} ms after its deadline"));
    // Far from when it would have ended by itself.
    assert!(late < 60_000.0, "{late}");
}
