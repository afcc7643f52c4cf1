//! What is kept of a program's output, and that it never costs the supervisor its memory.

use std::time::Duration;

use data_encoding::BASE64;
use serde_json::Value;
use stockade::Policy;
use stockade::launch::probe;
use stockade::limits::ByteCount;
use stockade::outcome::Exit;

use crate::helper::Helper;
use crate::support::{Project, exec, has, json, policy, tell, text, unboxed};

fn capped(bytes: u64) -> Policy {
    policy(|policy| policy.limits.output = ByteCount::bytes(bytes))
}

#[test]
fn a_megabyte_on_each_stream_in_turns_comes_through_whole() {
    let project = Project::new();
    let script = "
import os
out, err = b'o' * 999 + b'\\n', b'e' * 999 + b'\\n'
for n in range(1000):
    os.write(1, out)
    os.write(2, err)
";
    if !has("python3") {
        return;
    }
    let report = project.python(capped(2 << 20), script, &[]);
    assert_eq!(report["exit_code"], 0);
    assert_eq!(text(&report, "stdout"), ("o".repeat(999) + "\n").repeat(1000));
    assert_eq!(text(&report, "stderr"), ("e".repeat(999) + "\n").repeat(1000));
    assert_eq!(report["truncated"], false);
}

#[test]
fn head_and_tail_are_kept_with_the_exact_count_between_them() {
    let project = Project::new();
    // 588,895 bytes: 9 × 2, 90 × 3, 900 × 4, 9,000 × 5 and 90,000 × 6, and one 7.
    let report = project.run_with(capped(10_000), exec(&["seq", "100000"]));
    let stdout = text(&report, "stdout");
    assert_eq!((&report["exit_code"], &report["truncated"]), (&0.into(), &true.into()));
    assert!(stdout.starts_with("1\n2\n3\n") && stdout.ends_with("99999\n100000\n"));
    let marker = message!("\n{}\n" => "output.stockade-output-truncated-bytes", 588_895 - 10_000);
    assert_eq!(stdout.len(), 10_000 + marker.len());
    assert!(stdout.contains(marker), "{stdout}");
}

#[test]
fn each_stream_has_a_cap_of_its_own() {
    let project = Project::new();
    let report = project.sh(capped(100), "seq 1000\necho small >&2\n", &[]);
    assert!(text(&report, "stdout").contains("3793 bytes dropped"), "{report}");
    assert_eq!(text(&report, "stderr"), "small\n");
}

#[test]
fn the_cap_is_exact() {
    let project = Project::new();
    let script = "head -c $1 /dev/zero | tr '\\0' x\n";
    let whole = project.sh(capped(5000), script, &["5000"]);
    assert_eq!((text(&whole, "stdout").len(), &whole["truncated"]), (5000, &false.into()));
    let cut = project.sh(capped(5000), script, &["5001"]);
    assert!(text(&cut, "stdout").contains(message!("output.stockade-output-truncated-bytes", "1")));
    assert_eq!(cut["truncated"], true);
}

#[test]
fn cuts_fall_between_characters() {
    let project = Project::new();
    std::fs::write(project.path("text"), "aé€😀".repeat(2000)).unwrap();
    for cap in (4096..4112).chain(95..105) {
        let report = project.run_with(capped(cap), exec(&["cat", "text"]));
        assert!(!text(&report, "stdout").contains('\u{fffd}'), "cap {cap}");
        assert_eq!(report.get("stdout_base64"), None, "cap {cap}");
        let marker = text(&report, "stdout").split("truncated, ").nth(1).unwrap();
        let dropped: usize = marker.split(' ').next().unwrap().parse().unwrap();
        let kept = text(&report, "stdout").len()
            - message!("\n{}\n" => "output.stockade-output-truncated-bytes", dropped).len();
        assert_eq!(kept + dropped, 20_000, "cap {cap}");
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_exactly() {
    let project = Project::new();
    let bytes: Vec<u8> = (0..=255).collect();
    std::fs::write(project.path("bytes"), &bytes).unwrap();
    let report = project.sh(unboxed(), "cat bytes\ncat bytes >&2\n", &[]);
    for stream in ["stdout", "stderr"] {
        let exact = report[format!("{stream}_base64")].as_str().unwrap();
        assert_eq!(BASE64.decode(exact.as_bytes()).unwrap(), bytes);
        assert!(text(&report, stream).contains('\u{fffd}'));
    }
}

#[test]
fn zero_bytes_and_control_characters_are_text() {
    let project = Project::new();
    std::fs::write(project.path("bytes"), b"a\0b\x1b[31mc\x7f\r\n").unwrap();
    let report = project.run(&["cat", "bytes"]);
    assert_eq!(text(&report, "stdout"), "a\0b\u{1b}[31mc\u{7f}\r\n");
    assert_eq!(report.get("stdout_base64"), None);
}

#[test]
fn a_flood_leaves_the_supervisors_memory_flat() {
    let project = Project::new();
    let answer = Helper::new("flood", &project, &["yes"]).answer();
    let (growth, seen) = (answer["growth_kib"].as_u64().unwrap(), answer["seen"].as_u64().unwrap());
    tell(&format!("{} MiB of output moved the peak by {growth} KiB", seen >> 20));
    assert!(seen > 8 << 20, "{seen} bytes are no flood");
    // Both caps and 4 MiB.
    assert!(growth < 128 + 4096, "{growth} KiB");
    assert_eq!(answer["report"]["limit"], "wall");
    assert_eq!(answer["report"]["truncated"], true);
}

#[test]
fn a_flood_beyond_its_limit_ends_the_run() {
    let project = Project::new();
    for script in ["yes\n", "yes >&2\n", "trap '' PIPE\nyes & yes >&2\n"] {
        let policy = policy(|policy| policy.limits.flood = ByteCount::mib(1));
        let report = project.sh(policy, script, &[]);
        assert_eq!(
            (&report["limit"], &report["signal"]),
            (&"output".into(), &9.into()),
            "{report}"
        );
        assert_eq!((&report["timed_out"], &report["ok"]), (&false.into(), &false.into()));
        assert!(text(&report, "reason").contains("output limit"), "{report}");
    }
}

/// How many of the reports blame a limit for the end of a program that ended by itself. Where the
/// tree is not killed in one stroke, that cannot always be told.
fn wrongly_blamed(reports: impl Iterator<Item = stockade::Report>) -> usize {
    let blamed = reports
        .filter_map(|report| Some((report.outcome()?.limit?, report.outcome()?.exit)))
        .filter(|(_, exit)| matches!(exit, Exit::Code(_)));
    blamed.count()
}

#[test]
fn a_program_that_ends_as_its_flood_is_noticed_is_reported_as_it_ended() {
    let project = Project::new();
    project.script("burst.sh", "exec head -c 40000 /dev/zero\n");
    let stockade = project.open(policy(|policy| policy.limits.flood = ByteCount::bytes(39_999)));
    let wrong = wrongly_blamed((0..60).map(|_| stockade.run(exec(&["sh", "burst.sh"]))));
    assert!(wrong == 0 || !probe().signal_scope, "{wrong} of 60");
}

#[test]
fn a_program_that_ends_as_its_time_is_up_is_reported_as_it_ended() {
    let project = Project::new();
    project.script("short.sh", "sleep 0.05\nexit 3\n");
    let runs = (0..60).map(|step| {
        let stockade =
            project.open(crate::support::within(Duration::from_micros(50_000 + 400 * step)));
        stockade.run(exec(&["sh", "short.sh"]))
    });
    let wrong = wrongly_blamed(runs);
    assert!(wrong == 0 || !probe().signal_scope, "{wrong} of 60");
}

#[test]
fn a_program_that_closes_its_output_and_goes_on_is_waited_for() {
    let project = Project::new();
    let script = "echo before\nexec >&- 2>&-\nsleep 0.3\ntouch went-on\nexit 5\n";
    let report = project.sh(unboxed(), script, &[]);
    assert_eq!(
        (text(&report, "stdout"), &report["exit_code"]),
        ("before\n", &5.into()),
        "{report}"
    );
    assert!(project.path("went-on").exists());
    // It waits without spinning.
    assert!(report["usage"]["wall_ms"].as_f64().unwrap() >= 300.0);
}

#[test]
fn one_endless_line_is_kept_within_the_cap() {
    let project = Project::new();
    let script = "head -c 20000000 /dev/zero | tr '\\0' x\n";
    let report = project.sh(unboxed(), script, &[]);
    let stdout = text(&report, "stdout");
    assert!(stdout.len() < (64 << 10) + 100);
    assert!(stdout.contains(&format!("{} bytes dropped", 20_000_000 - (64 << 10))));
    assert_eq!(report["exit_code"], 0);
}

#[test]
fn exit_codes_are_the_programs_own() {
    let project = Project::new();
    project.script("exit.sh", "exit $1\n");
    let stockade = project.open(unboxed());
    let codes = (0..16).chain(120..134).chain([137, 143, 254, 255]);
    for code in codes {
        let report = json(&stockade.run(exec(&["sh", "exit.sh", &code.to_string()])));
        assert_eq!(report["exit_code"], code, "{report}");
        assert_eq!((&report["signal"], &report["limit"]), (&Value::Null, &Value::Null), "{report}");
        assert_eq!(report["ok"], code == 0, "{report}");
        assert_eq!((&report["timed_out"], &report["reason"]), (&false.into(), &Value::Null));
    }
}

#[test]
fn every_exit_code_there_is_comes_through() {
    let project = Project::new();
    project.script("exit.sh", "exit $1\n");
    let stockade = project.open(unboxed());
    std::thread::scope(|scope| {
        for part in 0..8 {
            let stockade = &stockade;
            scope.spawn(move || {
                for code in (0..=255).skip(part).step_by(8) {
                    let report = stockade.run(exec(&["sh", "exit.sh", &code.to_string()]));
                    assert_eq!(report.exit_code(), Some(code));
                }
            });
        }
    });
}

#[test]
fn signals_are_told_apart_from_codes() {
    let project = Project::new();
    project.script("die.sh", "kill -$1 $$\n");
    let stockade = project.open(unboxed());
    for signal in [1, 2, 3, 6, 9, 11, 13, 14, 15, 31, 34, 64] {
        let report = json(&stockade.run(exec(&["sh", "die.sh", &signal.to_string()])));
        assert_eq!(report["signal"], signal, "{report}");
        assert_eq!(report["exit_code"], 128 + signal, "{report}");
        assert_eq!(
            (&report["limit"], &report["timed_out"]),
            (&Value::Null, &false.into()),
            "{report}"
        );
    }
}

#[test]
fn an_exit_code_that_looks_like_ours_is_not_taken_for_ours() {
    let project = Project::new();
    for (code, what) in [(124, "a timeout"), (137, "an out-of-memory kill"), (126, "a refusal")] {
        let report = project.sh(unboxed(), "exit $1\n", &[&code.to_string()]);
        assert_eq!(report["exit_code"], code, "taken for {what}");
        for flag in ["timed_out", "denied", "truncated", "ok"] {
            assert_eq!(report[flag], false, "{flag}, taken for {what}");
        }
        for field in ["limit", "signal", "failure", "reason"] {
            assert_eq!(report[field], Value::Null, "{field}, taken for {what}");
        }
    }
}
