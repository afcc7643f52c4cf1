//! The report as JSON: its fields, their types, and the codes that are ours.

use serde_json::Value;
use stockade::ToolCall;
use stockade::guarantee::Guarantee;

use crate::support::{Project, exec, policy, text, unboxed};

/// Each field of the design with the letters of the types it may have.
const FIELDS: [(&str, &str); 24] = [
    ("call", "s"),
    ("tool", "s"),
    ("argv", "a"),
    ("ok", "b"),
    ("exit_code", "n0"),
    ("stdout", "s"),
    ("stderr", "s"),
    ("truncated", "b"),
    ("timed_out", "b"),
    ("denied", "b"),
    ("reason", "s0"),
    ("duration_ms", "n"),
    ("decision", "s0"),
    ("by", "s0"),
    ("rule", "s0"),
    ("source", "s0"),
    ("failure", "o0"),
    ("tier", "s0"),
    ("signal", "n0"),
    ("limit", "s0"),
    ("usage", "o0"),
    ("enforcement", "a"),
    ("denials", "a"),
    ("changes", "a0"),
];

fn letter(value: &Value) -> char {
    match value {
        Value::Null => '0',
        Value::Bool(_) => 'b',
        Value::Number(_) => 'n',
        Value::String(_) => 's',
        Value::Array(_) => 'a',
        Value::Object(_) => 'o',
    }
}

#[track_caller]
fn has_all_fields(report: &Value) {
    let object = report.as_object().unwrap();
    for (field, types) in FIELDS {
        let value = object.get(field);
        assert!(value.is_some_and(|value| types.contains(letter(value))), "{field} in {report}");
    }
}

#[track_caller]
fn failed_without_running(report: &Value) {
    has_all_fields(report);
    for field in ["step", "message"] {
        assert!(report["failure"][field].is_string(), "{report}");
    }
    for field in ["guarantee", "remedy"] {
        assert!(report["failure"].get(field).is_some(), "{report}");
    }
    for field in ["tier", "usage", "signal", "limit"] {
        assert_eq!(report[field], Value::Null, "{report}");
    }
    assert_eq!((&report["ok"], &report["denied"]), (&false.into(), &false.into()));
}

#[test]
fn of_a_run_has_every_field_with_its_type() {
    let project = Project::new();
    let report = project.run(&["echo", "hello"]);
    has_all_fields(&report);
    assert_eq!(report["call"].as_str().unwrap().len(), 26);
    assert_eq!(report["tool"], "Exec");
    assert_eq!(report["argv"], serde_json::json!(["echo", "hello"]));
    assert_eq!((&report["ok"], &report["exit_code"]), (&true.into(), &0.into()));
    assert_eq!((text(&report, "stdout"), text(&report, "stderr")), ("hello\n", ""));
    assert_eq!((&report["decision"], &report["by"]), (&"allow".into(), &"mode".into()));
    assert_eq!(report["tier"], "process");
    for field in ["reason", "rule", "source", "failure", "signal", "limit"] {
        assert_eq!(report[field], Value::Null, "{field}");
    }
    let usage = &report["usage"];
    for field in ["wall_ms", "cpu_ms"] {
        assert!(usage[field].as_f64().unwrap() > 0.0, "{field}");
    }
    assert!(usage["peak_memory_bytes"].as_u64().unwrap() > 100_000);
    assert!(usage.get("processes").is_some());
    let wall = usage["wall_ms"].as_f64().unwrap();
    assert!(report["duration_ms"].as_f64().unwrap() >= wall);
}

#[test]
fn of_a_run_says_of_every_guarantee_what_kept_it() {
    let project = Project::new();
    let report = project.run(&["true"]);
    let lines = report["enforcement"].as_array().unwrap();
    let named: Vec<&str> = lines.iter().map(|line| line["guarantee"].as_str().unwrap()).collect();
    assert_eq!(named, Guarantee::ALL.map(Guarantee::name));
    for line in lines {
        let kept = line["kept"].as_str().unwrap();
        assert!(["full", "partial", "detected", "lost", "none"].contains(&kept), "{line}");
        let by = line["by"].as_array().unwrap();
        assert_eq!(by.is_empty(), kept == "none", "{line}");
        // What is not kept in full says in words what is missing.
        assert_eq!(line.get("note").is_some(), kept != "full", "{line}");
    }
    for not_kept in ["writes", "reads", "protected", "network", "kernel"] {
        assert_eq!(crate::support::kept(&report, not_kept), "none");
    }
}

#[test]
fn of_a_refusal_says_why_by_which_rule_and_what_instead() {
    let project = Project::new();
    let report = project.run(&["rm", "-rf", "."]);
    has_all_fields(&report);
    assert_eq!((&report["exit_code"], &report["denied"]), (&(-100).into(), &true.into()));
    assert_eq!((&report["decision"], &report["by"]), (&"deny".into(), &"axis".into()));
    assert_eq!(report["rule"], "name/denylist");
    assert!(text(&report, "reason").contains("denylist"));
    assert!(report["instead"].is_string());
    for field in ["tier", "usage", "failure", "signal", "limit"] {
        assert_eq!(report[field], Value::Null, "{field}");
    }
    assert_eq!(report["enforcement"], serde_json::json!([]));
}

#[test]
fn a_refused_call_spawned_nothing() {
    let project = Project::new();
    project.script("mark.sh", "touch spawned\n");
    // The control half: the same script, asked for in a way that is allowed.
    let control = project.run(&["sh", "mark.sh"]);
    assert_eq!(control["exit_code"], 0, "{control}");
    std::fs::remove_file(project.path("spawned")).unwrap();
    for argv in [&["sh", "-c", "touch spawned"][..], &["sh", "mark.sh", "/etc/passwd"]] {
        let report = project.run(argv);
        assert_eq!(report["exit_code"], -100, "{report}");
        assert!(!project.path("spawned").exists(), "{report}");
    }
}

#[test]
fn of_a_program_that_is_not_there_has_127_and_a_failure() {
    let project = Project::new();
    let report = project.run(&["no-such-program-anywhere"]);
    failed_without_running(&report);
    assert_eq!(report["exit_code"], 127);
    assert!(text(&report["failure"], "message").contains("no-such-program-anywhere"), "{report}");
}

#[test]
fn of_a_text_without_an_interpreter_names_the_step_and_has_no_code() {
    let project = Project::new();
    project.script("text", "echo this has no first line that names an interpreter\n");
    let report = project.run(&["./text"]);
    failed_without_running(&report);
    assert_eq!(report["exit_code"], Value::Null, "{report}");
    assert_eq!(report["failure"]["kind"], "start");
    assert!(text(&report["failure"], "message").contains("Exec format error"), "{report}");
}

#[test]
fn of_a_script_whose_interpreter_is_missing_is_a_failure() {
    let project = Project::new();
    project.script("orphan", "#!/no/such/interpreter\n");
    let report = project.run(&["./orphan"]);
    assert_eq!(report["ok"], false, "{report}");
    assert_ne!(report["exit_code"], 0, "{report}");
    assert_eq!(report["usage"], Value::Null, "{report}");
}

#[test]
fn a_guarantee_that_cannot_be_kept_fails_before_anything_runs() {
    let project = Project::new();
    project.script("mark.sh", "touch spawned\n");
    for guarantee in [Guarantee::Network, Guarantee::Writes, Guarantee::Reads, Guarantee::Kernel] {
        let policy = policy(|policy| {
            policy.require.insert(guarantee, stockade::guarantee::Kept::Full);
        });
        let report = project.run_with(policy, exec(&["sh", "mark.sh"]));
        failed_without_running(&report);
        assert_eq!(report["failure"]["guarantee"], guarantee.name());
        assert_eq!(report["exit_code"], Value::Null);
        assert!(report["failure"]["remedy"].is_string());
        assert!(!project.path("spawned").exists());
    }
}

#[test]
fn a_tier_that_is_not_there_is_a_failure_and_no_weaker_tier() {
    use stockade::tier::Tier;
    let project = Project::new();
    project.script("mark.sh", "touch spawned\n");
    for tier in [Tier::Inline, Tier::Microvm, Tier::Cluster] {
        let report =
            project.run_with(policy(|policy| policy.tier = tier), exec(&["sh", "mark.sh"]));
        failed_without_running(&report);
        assert!(!project.path("spawned").exists(), "{report}");
    }
}

#[test]
fn arguments_that_are_no_text_are_kept_exactly() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    let project = Project::new();
    let call = ToolCall::exec([OsString::from("echo"), OsString::from_vec(b"\xff\xfe".to_vec())]);
    let report = project.run_with(unboxed(), call);
    assert_eq!(report["argv_base64"], serde_json::json!(["ZWNobw==", "//4="]), "{report}");
    assert_eq!(report["stdout_base64"], "//4K");
}

#[test]
fn is_one_line_whatever_the_output_holds() {
    let project = Project::new();
    std::fs::write(project.path("text"), "a\nb\r\u{2028}\"\\{}\u{0}\n").unwrap();
    let report = project.open(unboxed()).run(exec(&["cat", "text"]));
    let line = serde_json::to_string(&report).unwrap();
    assert!(!line.contains('\n') && !line.contains('\r'));
    assert_eq!(
        serde_json::from_str::<Value>(&line).unwrap()["stdout"],
        "a\nb\r\u{2028}\"\\{}\u{0}\n"
    );
}

#[test]
fn bad_calls_are_refused_and_never_panic() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let long = "x".repeat(2 << 20);
    let calls = [
        ToolCall::exec(Vec::<String>::new()),
        ToolCall::exec([""]),
        ToolCall::exec(["echo", "a\0b"]),
        ToolCall::exec(["echo", long.as_str()]),
        ToolCall::exec(["."]),
        ToolCall::exec(["./"]),
        ToolCall::exec(["echo"]).in_folder("/"),
        ToolCall::exec(["echo"]).in_folder("not-there"),
        ToolCall::line("echo 'hi"),
        ToolCall::line("echo \0"),
    ];
    for call in calls {
        let report = crate::support::json(&stockade.run(call));
        has_all_fields(&report);
        assert_eq!(report["ok"], false);
        assert_eq!(report["usage"], Value::Null, "{}", report["reason"]);
    }
}

#[test]
fn a_hundred_thousand_arguments_arrive() {
    let project = Project::new();
    let many = std::iter::once("echo").chain(std::iter::repeat_n("a", 100_000));
    let report = project.open(unboxed()).run(ToolCall::exec(many));
    assert!(report.ok(), "{:?}", report.reason());
    assert_eq!(report.outcome().unwrap().stdout.seen, 200_000);
}
