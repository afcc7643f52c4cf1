//! What a hook may answer, and what it cannot lift.

use std::time::Duration;

use serde_json::json;
use stockade::hooks::Reply;
use stockade::policy::{Decision, Mode};
use stockade::{Policy, ToolCall};

use super::{echo, hooked, pre, saying, with_rule};
use crate::support::{Project, exec, json as report_of, text, unboxed};

#[test]
fn a_hook_answers_what_the_mode_asks_and_lifts_nothing() {
    let project = Project::new();
    let allow = saying(&json!({"hookSpecificOutput": {"permissionDecision": "allow"}}));
    let asked = |policy| with_rule(policy, "Bash(echo *)", Decision::Ask);
    let denied = |policy| with_rule(policy, "Bash(echo *)", Decision::Deny);
    let careful = |policy| Policy { mode: Mode::Default, ..policy };
    let touch = || exec(&["touch", "x"]);
    assert_eq!(project.run_with(careful(unboxed()), touch())["denied"], true);
    let report = project.run_with(careful(pre(&project, &allow)), touch());
    assert_eq!(
        (&report["ok"], &report["by"], &report["rule"]),
        (&json!(true), &json!("hook"), &json!("guard"))
    );
    let report = project.run_with(asked(pre(&project, &allow)), echo());
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("rule")), "{report}");
    let report = project.run_with(denied(pre(&project, &format!("touch asked; {allow}"))), echo());
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("rule")));
    let report =
        project.run_with(pre(&project, &format!("touch asked; {allow}")), exec(&["rm", "x"]));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("axis")));
    assert!(!project.path("asked").exists(), "a refused call is shown to no hook");
    let ask = saying(&json!({"hookSpecificOutput": {"permissionDecision": "ask"}}));
    let both = format!(
        "[[hook]]\nname='a'\nevent='pre'\nshell='''{allow}'''\n[[hook]]\nname='b'\nevent='pre'\nshell='''{ask}'''\n"
    );
    let report = project.run_with(hooked(&project, &both), echo());
    assert_eq!((&report["denied"], &report["rule"]), (&json!(true), &json!("b")), "{report}");
}

/// In the jail nothing refuses this delete, and a person has to say; a hook is none.
#[test]
fn a_hook_does_not_answer_for_deletes_that_nobody_takes_back() {
    let project = Project::new();
    let builder = project.builder(Policy::shipped()).pre_hook("yes", |_| Reply::allow());
    let stockade = builder.open().unwrap();
    let report = report_of(&stockade.run(ToolCall::line("rm -rf .")));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("rule")), "{report}");
    assert!(text(&report, "rule").contains("destroy-project"), "{report}");
}

#[test]
fn closures_tighten_and_one_that_panics_or_hangs_refuses() {
    let project = Project::new();
    let within = |patience: Duration, hook: fn(&stockade::hooks::Event) -> Reply| {
        let builder = project.builder(unboxed()).pre_hook("inner", hook).hook_patience(patience);
        report_of(&builder.open().unwrap().run(echo()))
    };
    let run = |hook| within(Duration::from_secs(30), hook);
    let report = run(|event| Reply::deny(format!("no {}", event.tool_input["argv"][0])));
    assert_eq!(
        (&report["by"], &report["reason"]),
        (&json!("hook"), &json!("the hook \"inner\" refuses this: no \"echo\""))
    );
    let report = run(|_| panic!("a hook's own mistake"));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")));
    assert!(text(&report, "reason").contains("it panicked"), "{report}");
    let report = within(Duration::from_millis(300), |_| {
        std::thread::sleep(Duration::from_secs(3));
        Reply::allow()
    });
    assert!(
        text(&report, "reason").contains(message!("run.did-not-answer-within", "300ms")),
        "{report}"
    );
    let report = run(|_| Reply::silent().redacting("x"));
    assert!(text(&report, "reason").contains(message!("reply.no-output-yet")), "{report}");
    let report = run(|_| Reply::silent().stopping("budget"));
    assert_eq!(
        (&report["denied"], &report["stop"]),
        (&json!(true), &json!({"hook": "inner", "text": "budget"}))
    );
    let report = run(|_| Reply::silent().with_context("c").with_message("m"));
    assert_eq!(report["context"], json!([{"hook": "inner", "text": "c"}]));
    assert_eq!(report["messages"], json!([{"hook": "inner", "text": "m"}]));
}
