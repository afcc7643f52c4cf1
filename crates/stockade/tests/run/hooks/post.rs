//! Hooks after a call: they add to its report and take from its output.

use std::fs;

use serde_json::{Value, json};
use stockade::hooks::{Replacement, Reply};
use stockade::{Policy, ToolCall};

use super::{echo, hooked, journal, saying};
use crate::support::{Project, exec, json as report_of, text, unboxed};

fn post(project: &Project, line: &str) -> Policy {
    hooked(project, &format!("[[hook]]\nname = 'after'\nevent = 'post'\nshell = '''{line}'''\n"))
}

#[test]
fn a_hook_after_a_call_is_told_its_report_and_adds_context() {
    let project = Project::new();
    let line = format!(
        "tee told.json >/dev/null; {}",
        saying(&json!({
            "systemMessage": "m", "hookSpecificOutput": {"additionalContext": "three warnings"}
        }))
    );
    let report =
        project.run_with(post(&project, &line), ToolCall::line("echo out; echo err >&2; exit 3"));
    assert_eq!(
        (&report["exit_code"], &report["decision"]),
        (&json!(3), &json!("allow")),
        "{report}"
    );
    assert_eq!(report["context"], json!([{"hook": "after", "text": "three warnings"}]));
    assert_eq!(report["messages"], json!([{"hook": "after", "text": "m"}]));
    assert_eq!(report["stdout"], "out\n");
    let told: Value =
        serde_json::from_str(&fs::read_to_string(project.path("told.json")).unwrap()).unwrap();
    assert_eq!(told["hook_event_name"], "PostToolUse");
    let response = json!({"stdout": "out\n", "stderr": "err\n", "interrupted": false,
        "isImage": false, "exit_code": 3, "timed_out": false, "truncated": false});
    assert_eq!(told["tool_response"], response);
    assert_eq!((&told["report"]["exit_code"], &told["report"]["by"]), (&json!(3), &json!("mode")));
    assert!(told["duration_ms"].is_u64());
    let refused = project.run_with(post(&project, "touch told-of-refusal"), exec(&["rm", "x"]));
    assert_eq!(refused["denied"], true);
    assert!(!project.path("told-of-refusal").exists());
}

#[test]
fn a_hook_redacts_the_output_and_changes_nothing_that_happened() {
    let project = Project::new();
    let line = saying(&json!({"hookSpecificOutput": {"redact": ["s3cret"]}}));
    let call = || ToolCall::line("echo key=s3cret; echo s3cret >&2; exit 4");
    let report = project.run_with(post(&project, &line), call());
    assert_eq!(
        (&report["stdout"], &report["stderr"]),
        (&json!("key=[redacted]\n"), &json!("[redacted]\n"))
    );
    assert_eq!((&report["redacted_by"], &report["exit_code"]), (&json!(["after"]), &json!(4)));
    let outcome = journal(&project).remove(1);
    assert_eq!((&outcome["stdout_bytes"], &outcome["exit_code"]), (&json!(11), &json!(4)));
    let report = project.run_with(post(&project, &line), echo());
    assert_eq!((&report["stdout"], &report["redacted_by"]), (&json!("hello\n"), &Value::Null));
    let builder = project.builder(unboxed()).post_hook("clean", |_| {
        let (stdout, stderr) = (Some("new\n".to_owned()), None);
        Reply::silent().with_output(Replacement { stdout, stderr })
    });
    let report = report_of(&builder.open().unwrap().run(call()));
    assert_eq!((&report["stdout"], &report["stderr"]), (&json!("new\n"), &json!("s3cret\n")));
    assert_eq!((&report["exit_code"], &report["ok"]), (&json!(4), &json!(false)));
}

#[test]
fn a_hook_that_fails_after_a_call_withholds_its_output() {
    let project = Project::new();
    for (line, part) in [
        ("exit 1", "exited with 1"),
        ("echo '{'", message!("line.cannot-understood")),
        ("kill -9 $$", "signal 9"),
    ] {
        let report = project.run_with(post(&project, line), echo());
        assert_eq!((&report["exit_code"], &report["redacted_by"]), (&json!(0), &json!(["after"])));
        let stdout = text(&report, "stdout");
        assert!(stdout.contains("output withheld") && stdout.contains(part), "{report}");
        assert!(!stdout.contains("hello"));
    }
    let builder = project.builder(unboxed()).post_hook("late", |_| Reply::deny("too late"));
    let stockade = builder.open().unwrap();
    assert!(
        text(&report_of(&stockade.run(echo())), "stdout").contains(message!("reply.call-has-run"))
    );
}
