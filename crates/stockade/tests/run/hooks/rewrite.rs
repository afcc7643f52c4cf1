//! Calls that a hook rewrites: judged again, and shown to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use stockade::ToolCall;
use stockade::hooks::Reply;
use stockade::policy::Decision;

use super::{echo, journal, pre, saying, with_rule};
use crate::support::{Project, json as report_of, text, unboxed};

fn rewriting(to: &Value) -> String {
    saying(&json!({"hookSpecificOutput": {"updatedInput": to}}))
}

#[test]
fn a_rewritten_call_is_inspected_again() {
    let project = Project::new();
    let run =
        |to: Value| project.run_with(pre(&project, &rewriting(&to)), ToolCall::line("echo a"));
    let report = run(json!({"command": "echo b"}));
    assert_eq!((&report["ok"], &report["stdout"]), (&json!(true), &json!("b\n")), "{report}");
    assert_eq!(report["rewritten"], json!({"by": "guard", "argv": ["bash", "-c", "echo a"]}));
    assert_eq!(report["argv"], json!(["echo b"]));
    let entries = journal(&project);
    assert_eq!(entries[0]["rewritten"]["by"], "guard");
    assert_ne!(entries[0]["rewritten"]["sha256"], entries[0]["sha256"]);
    let report = run(json!({"command": "rm -rf ."}));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("axis")), "{report}");
    let report = run(json!({"command": "echo a"}));
    assert_eq!((&report["ok"], &report["rewritten"]), (&json!(true), &Value::Null));
    for misfit in
        [json!({"argv": ["echo"]}), json!({"command": "echo", "sandbox": false}), json!({})]
    {
        let report = run(misfit);
        assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")));
        assert!(
            text(&report, "reason").contains(message!("input.does-not-fit", "Bash")),
            "{report}"
        );
    }
    let policy = with_rule(
        pre(&project, &rewriting(&json!({"command": "echo b"}))),
        "Bash(echo b)",
        Decision::Deny,
    );
    let report = project.run_with(policy, ToolCall::line("echo a"));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("rule")));
}

#[test]
fn other_hooks_see_the_rewritten_call_and_nobody_rewrites_it_again() {
    let project = Project::new();
    let to = |text: &str| json!({ "command": text }).as_object().unwrap().clone();
    let line =
        |event: &stockade::hooks::Event| event.tool_input["command"].as_str().unwrap().to_owned();
    let nested = move |event: &stockade::hooks::Event| {
        Reply::silent().with_input(to(&format!("nice {}", line(event))))
    };
    let run = |builder: stockade::Builder| {
        report_of(&builder.open().unwrap().run(ToolCall::line("echo a")))
    };
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let open = || project.builder(unboxed()).pre_hook("wrap", nested);
    let report = run(open().pre_hook("count", move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Reply::silent()
    }));
    assert_eq!((&report["ok"], &report["stdout"]), (&json!(true), &json!("a\n")), "{report}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let report = run(open().pre_hook("no-nice", move |event| {
        if line(event).starts_with("nice") { Reply::deny("no nice") } else { Reply::silent() }
    }));
    assert_eq!((&report["denied"], &report["rule"]), (&json!(true), &json!("no-nice")), "{report}");
    let report = run(open().pre_hook("again", move |event| {
        if line(event).starts_with("nice") {
            Reply::silent().with_input(to("echo c"))
        } else {
            Reply::silent()
        }
    }));
    assert_eq!((&report["denied"], &report["rule"]), (&json!(true), &json!("again")), "{report}");
    assert!(text(&report, "reason").contains(message!("hooks.rewritten-already")), "{report}");
}

/// What one rewrites is shown to the other of the same name, too.
#[test]
fn hooks_of_one_name_do_not_hide_behind_each_other() {
    let project = Project::new();
    let rewrite = |event: &stockade::hooks::Event| match event.tool_input["argv"][0].as_str() {
        Some("echo") => {
            let input = json!({"argv": ["printf", "taken"]});
            Reply { input: input.as_object().cloned(), ..Reply::silent() }
        }
        _ => Reply::silent(),
    };
    let guard = |event: &stockade::hooks::Event| match event.tool_input["argv"][0].as_str() {
        Some("printf") => Reply::deny("not that"),
        _ => Reply::silent(),
    };
    let control = project.builder(unboxed()).pre_hook("a", rewrite).open().unwrap();
    assert_eq!(report_of(&control.run(echo()))["stdout"], "taken");
    for name in ["a", "b"] {
        let builder = project.builder(unboxed()).pre_hook("a", rewrite).pre_hook(name, guard);
        let report = report_of(&builder.open().unwrap().run(echo()));
        assert!(text(&report, "reason").contains("not that"), "{name}: {report}");
    }
}
