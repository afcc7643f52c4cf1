//! Each limit, hit: what ends, what the report says, and that the machine stays usable.

use std::time::Duration;

use serde_json::Value;
use stockade::limits::ByteCount;
use stockade::tier::Tier;

use crate::support::{Project, eventually, exec, has, marked, marker, policy, text, unboxed};

#[test]
fn a_busy_loop_hits_the_cpu_limit() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.cpu = Some(Duration::from_secs(1)));
    let report = project.sh(policy, "while :; do :; done\n", &[]);
    assert_eq!((&report["limit"], &report["signal"]), (&"cpu".into(), &24.into()), "{report}");
    assert_eq!(report["timed_out"], false);
    assert_eq!(report["ok"], false);
    let cpu = report["usage"]["cpu_ms"].as_f64().unwrap();
    assert!((500.0..2500.0).contains(&cpu), "{cpu} ms");
}

#[test]
fn a_busy_loop_that_ignores_the_warning_is_killed_a_second_later() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.cpu = Some(Duration::from_secs(1)));
    let report = project.sh(policy, "trap '' XCPU\nwhile :; do :; done\n", &[]);
    assert_eq!((&report["limit"], &report["signal"]), (&"cpu".into(), &9.into()), "{report}");
}

#[test]
fn a_program_that_kills_itself_early_has_hit_no_limit() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.cpu = Some(Duration::from_secs(10)));
    for signal in ["KILL", "XCPU"] {
        let script = format!("kill -{signal} $$\n");
        let report = project.sh(policy.clone(), &script, &[]);
        assert_eq!(report["limit"], Value::Null, "{report}");
    }
}

#[test]
fn a_program_that_wants_too_much_memory_is_told_and_ends_by_itself() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.memory = Some(ByteCount::mib(256)));
    let script = "
print('before', flush=True)
try:
    bytearray(1 << 30)
except MemoryError:
    print('MemoryError', flush=True)
    raise SystemExit(42)
";
    if !has("python3") {
        return;
    }
    let control = project.python(unboxed(), script, &[]);
    assert_eq!((text(&control, "stdout"), &control["exit_code"]), ("before\n", &0.into()));
    let report = project.python(policy, script, &[]);
    assert_eq!(text(&report, "stdout"), "before\nMemoryError\n", "{report}");
    assert_eq!((&report["exit_code"], &report["limit"]), (&42.into(), &Value::Null), "{report}");
    assert_eq!(report["reason"], Value::Null);
}

#[test]
fn a_file_that_grows_too_large_ends_the_program() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.file_size = Some(ByteCount::kib(100)));
    let script = "exec head -c 1000000 /dev/zero > out\n";
    let control = project.sh(unboxed(), script, &[]);
    assert_eq!(control["exit_code"], 0, "{control}");
    let report = project.sh(policy, script, &[]);
    assert_eq!(
        (&report["limit"], &report["signal"]),
        (&"file_size".into(), &25.into()),
        "{report}"
    );
    assert_eq!(std::fs::metadata(project.path("out")).unwrap().len(), 100 << 10);
}

#[test]
fn a_program_that_opens_too_many_files_is_told() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.open_files = 64);
    let script = "
opened = []
try:
    while len(opened) < 500:
        opened.append(open('/dev/null'))
except OSError as error:
    print(error.errno, len(opened) <= 64)
else:
    print('all', len(opened))
";
    if !has("python3") {
        return;
    }
    let control = project.python(unboxed(), script, &[]);
    assert_eq!(text(&control, "stdout"), "all 500\n", "{control}");
    let report = project.python(policy, script, &[]);
    assert_eq!(text(&report, "stdout"), "24 True\n", "{report}");
    assert_eq!(report["limit"], Value::Null);
}

#[test]
fn a_crash_leaves_no_core() {
    let project = Project::new();
    let report = project.sh(unboxed(), "ulimit -c\nulimit -H -c\nkill -SEGV $$\n", &[]);
    assert_eq!((text(&report, "stdout"), &report["signal"]), ("0\n0\n", &11.into()), "{report}");
    let cores = crate::support::names_in(&project.root());
    assert_eq!(cores, ["script.sh"]);
}

#[test]
fn a_fork_bomb_hits_the_limit_of_processes_and_the_machine_stays_usable() {
    let project = Project::new();
    let policy = policy(|policy| {
        policy.limits.processes = Some(40);
        policy.limits.wall = Duration::from_secs(30);
    });
    let marker = marker();
    let script = "bomb() { bomb | bomb & }\ni=0\nwhile [ $i -lt 100 ]; do sleep $1 & i=$((i+1)); done\nbomb\nwait\n";
    let report = project.sh(policy, script, &[&marker]);
    assert_eq!(report["limit"], "processes", "{report}");
    assert_eq!(report["timed_out"], false);
    assert!(text(&report, "reason").contains("processes limit"), "{report}");
    assert_eq!(marked(&marker), Vec::<i32>::new());
    assert_eq!(project.run(&["echo", "usable"])["stdout"], "usable\n");
}

#[test]
fn a_program_that_stays_within_the_limit_of_processes_runs() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.processes = Some(40));
    let script = "i=0\nwhile [ $i -lt 30 ]; do sleep 0.3 & i=$((i+1)); done\nwait\necho all\n";
    let report = project.sh(policy, script, &[]);
    assert_eq!((text(&report, "stdout"), &report["limit"]), ("all\n", &Value::Null), "{report}");
}

#[test]
fn a_caller_chooses_its_deadline_up_to_the_most_that_the_policy_gives() {
    let project = Project::new();
    let limited = |wall_max: u64| {
        policy(|policy| {
            policy.limits.wall = Duration::from_millis(600);
            policy.limits.wall_max = Duration::from_millis(wall_max);
        })
    };
    let sleep = |seconds: &str, wall: u64| {
        let mut call = exec(&["sleep", seconds]);
        call.wall = Some(Duration::from_millis(wall));
        call
    };
    let report = project.run_with(limited(900), sleep("30", 60_000));
    assert_eq!(report["timed_out"], true, "{report}");
    let report = project.run_with(limited(60_000), sleep("1", 50_000));
    assert_eq!(report["ok"], true, "{report}");
    let report = project.run_with(unboxed(), sleep("30", 200));
    assert_eq!(report["timed_out"], true, "{report}");
    assert!(report["usage"]["wall_ms"].as_f64().unwrap() < 15_000.0);
}

#[test]
fn a_deadline_of_nothing_and_one_of_ages_are_both_kept() {
    let project = Project::new();
    let report = project.run_with(crate::support::within(Duration::ZERO), exec(&["sleep", "30"]));
    assert_eq!(report["timed_out"], true, "{report}");
    let report = project.run_with(crate::support::within(Duration::MAX), exec(&["echo"]));
    assert_eq!(report["ok"], true, "{report}");
}

#[test]
fn a_cpu_hog_with_many_processes_ends_with_its_deadline() {
    let project = Project::new();
    let marker = marker();
    let policy = crate::support::within(Duration::from_millis(800));
    let script = "for n in 1 2 3 4; do sh -c 'while :; do :; done' x $1 & done\nwait\n";
    let report = project.sh(policy, script, &[&marker]);
    assert_eq!(report["limit"], "wall", "{report}");
    assert!(eventually(Duration::ZERO, || marked(&marker).is_empty()), "{report}");
}

/// Inspection and the look at the project count, so that nothing is started that has no time left.
#[test]
fn a_call_whose_time_is_up_before_its_program_starts_is_timed_out() {
    let project = Project::new();
    for tier in [Tier::Process, Tier::Jail] {
        let policy = policy(|policy| {
            policy.tier = tier;
            policy.limits.wall = Duration::from_nanos(1);
        });
        let report = project.sh(policy, "echo started > started\n", &[]);
        assert_eq!((&report["timed_out"], &report["limit"]), (&true.into(), &"wall".into()));
        assert_eq!((&report["exit_code"], &report["stdout"]), (&(-101).into(), &"".into()));
        assert!(
            report["notes"].to_string().contains(message!("launch.program-not-started-inspecting")),
            "{report}"
        );
        assert!(!project.path("started").exists(), "{report}");
    }
}
