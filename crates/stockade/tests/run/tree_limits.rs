//! Limits of the whole tree: by cgroups where there are any, and without them by looking.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use stockade::Policy;
use stockade::guarantee::{Guarantee, Kept};
use stockade::limits::ByteCount;
use stockade::tier::Tier;

use crate::support::{Project, exec, has, is_root, kept, policy, skip, tell};

/// Set where the cgroups were taken away.
const WITHOUT: &str = "STOCKADE_TEST_WITHOUT_CGROUPS";

/// No process of it runs for long, so that the limit of one process is never met.
const BUSY_FAMILY: &str =
    "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'; done\n";

/// Four that keep 60 MiB each: one line that never ends.
const HOARDERS: &str = "hoard() { { head -c 60M /dev/zero; sleep 60; } | tail -n 1; }\n\
     hoard & hoard & hoard & hoard & wait\n";

/// The shipped policy in this tier, with changes.
fn in_tier(tier: Tier, change: impl FnOnce(&mut Policy)) -> Policy {
    policy(|policy| {
        policy.tier = tier;
        change(policy);
    })
}

fn can_box(project: &Project) -> bool {
    let report = project.run_with(in_tier(Tier::Jail, |_| {}), exec(&["true"]));
    let can = report["ok"] == true;
    if !can {
        skip("userns", "there is no box here");
    }
    can
}

#[test]
fn processor_time_of_a_whole_tree_is_bounded_and_told() {
    let project = Project::new();
    for tier in [Tier::Process, Tier::Jail] {
        if tier == Tier::Jail && !can_box(&project) {
            continue;
        }
        let limited = in_tier(tier, |policy| policy.limits.cpu = Some(Duration::from_secs(1)));
        let report = project.sh(limited, BUSY_FAMILY, &[]);
        let hit = (&report["limit"], &report["signal"]);
        assert_eq!(hit, (&"cpu".into(), &9.into()), "{report}");
        let cpu = report["usage"]["cpu_ms"].as_f64().unwrap();
        assert!((1800.0..4000.0).contains(&cpu), "{report}");
        // The control half: without that limit it is the deadline that ends it.
        let endless = in_tier(tier, |policy| policy.limits.wall = Duration::from_secs(3));
        assert_eq!(project.sh(endless, BUSY_FAMILY, &[])["limit"], "wall");
    }
}

#[test]
fn memory_of_a_whole_tree_without_a_cgroup_is_looked_at() {
    let project = Project::new();
    let limited = in_tier(Tier::Process, |policy| policy.limits.memory = Some(ByteCount::mib(150)));
    let report = project.sh(limited, HOARDERS, &[]);
    assert_eq!((&report["limit"], &report["signal"]), (&"memory".into(), &9.into()), "{report}");
    assert_eq!(kept(&report, "tree_limits"), "partial", "{report}");
    let peak = report["usage"]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak > 150 << 20, "{report}");
    let enough = in_tier(Tier::Process, |policy| {
        policy.limits.memory = Some(ByteCount::mib(900));
        policy.limits.wall = Duration::from_secs(2);
    });
    assert_eq!(project.sh(enough, HOARDERS, &[])["limit"], "wall");
}

#[test]
fn memory_that_processes_share_is_counted_once() {
    if !has("perl") {
        return;
    }
    let project = Project::new();
    // Eight times 40 MiB by the quick figure, which counts a page for each that has it.
    project.script(
        "share.pl",
        "my $all = 'x' x (40 << 20); for (1 .. 7) { if (!fork) { sleep 2; exit } }\n\
         1 while wait != -1; print length $all;\n",
    );
    let limited = in_tier(Tier::Process, |policy| policy.limits.memory = Some(ByteCount::mib(200)));
    let report = project.run_with(limited, exec(&["perl", "share.pl"]));
    assert_eq!((&report["ok"], &report["stdout"]), (&true.into(), &"41943040".into()), "{report}");
    let peak = report["usage"]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 200 << 20, "{report}");
}

#[test]
fn a_share_of_the_processors_is_kept_where_there_are_cgroups() {
    let project = Project::new();
    if !can_box(&project) {
        return;
    }
    let run = |cpus: Option<&str>| {
        let policy = in_tier(Tier::Jail, |policy| {
            policy.limits.cpus = cpus.map(|cpus| cpus.parse().unwrap());
            policy.limits.wall = Duration::from_secs(3);
        });
        project.sh(policy, "while :; do :; done\n", &[])
    };
    let report = run(Some("0.05"));
    let cpu = |report: &Value| report["usage"]["cpu_ms"].as_f64().unwrap();
    if kept(&report, "tree_limits") == "full" {
        assert!(cpu(&report) < 400.0, "{report}");
        assert!(cpu(&run(None)) > 400.0, "the control half");
    } else {
        let told = report["enforcement"].to_string();
        assert!(told.contains(message!("enforcement.no-cgroup", "cpu")), "{report}");
        skip("cgroup", "there is no cgroup for this user");
    }
}

#[test]
fn without_cgroups_a_box_is_kept_in_part_and_refused_where_all_is_required() {
    let mut alone = Command::new("unshare");
    let take_away = "grep -oE ' /sys/fs/cgroup[^ ]*' /proc/self/mountinfo | sort -ru | \
                     while read -r one; do umount -l $one; done; exec \"$@\"";
    alone.args(["--mount", "sh", "-c", take_away, "sh"]);
    alone.arg(std::env::current_exe().unwrap());
    alone.args(["--exact", "tree_limits::plays_without_cgroups", "--nocapture"]);
    if !is_root() {
        skip("root", "cgroups can be taken away by root alone");
        return;
    }
    let output = alone.env(WITHOUT, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{output:?}");
    tell(&format!("without cgroups: {}", told.lines().last().unwrap_or_default()));
}

#[test]
fn plays_without_cgroups() {
    if std::env::var_os(WITHOUT).is_none() {
        return;
    }
    let project = Project::new();
    if !can_box(&project) {
        return;
    }
    let limited = in_tier(Tier::Jail, |policy| policy.limits.memory = Some(ByteCount::mib(150)));
    let start = Instant::now();
    let report = project.sh(limited, HOARDERS, &[]);
    assert_eq!((&report["limit"], &report["signal"]), (&"memory".into(), &9.into()), "{report}");
    assert!(start.elapsed() < Duration::from_secs(120), "{report}");
    assert_eq!(kept(&report, "tree_limits"), "partial", "{report}");
    let told = report["enforcement"].to_string();
    assert!(
        told.contains(message!("enforcement.no-cgroup", "memory")) && told.contains("sampling"),
        "{report}"
    );
    let required = in_tier(Tier::Jail, |policy| {
        policy.require.insert(Guarantee::TreeLimits, Kept::Full);
    });
    let report = project.sh(required, "touch ran\n", &[]);
    assert_eq!(report["failure"]["guarantee"], "tree_limits", "{report}");
    assert!(!project.path("ran").exists(), "{report}");
    let enough = in_tier(Tier::Jail, |policy| {
        policy.require.insert(Guarantee::TreeLimits, Kept::Partial);
    });
    assert_eq!(project.sh(enough, "exit 0\n", &[])["ok"], true);
}
