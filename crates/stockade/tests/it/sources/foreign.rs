//! Calls of tools that are not ours: rules decide by what the input names, and none is run.

use serde_json::{Value, json};
use stockade::ToolCall;
use stockade::call::{ExternalCall, Tool};
use stockade::policy::{By, Decision, Policy};

use crate::project::Project;

fn call(name: &str, input: &Value) -> ToolCall {
    let input = input.as_object().unwrap().clone();
    ToolCall::of(Tool::Unknown(ExternalCall { name: name.to_owned(), input }))
}

#[track_caller]
fn decides(mode: &str, rules: &str, cases: &[(&str, Value, Decision)]) {
    let project = Project::new();
    std::fs::write(project.root().join("a.md"), "").unwrap();
    std::fs::create_dir(project.root().join("docs")).unwrap();
    let file = project.root().join("x.toml");
    let policy = Policy::from_text(&file, &format!("mode = '{mode}'\n[rules]\n{rules}")).unwrap();
    let examiner = project.examiner(policy);
    for (tool, input, expected) in cases {
        let ruling = examiner.examine(&call(tool, input)).ruling;
        assert_eq!(ruling.decision, *expected, "{tool} {input}: {ruling:?}");
    }
}

#[test]
fn rules_decide_by_the_fields_of_the_input() {
    use Decision::{Allow, Ask, Deny};
    decides(
        "default",
        "deny = ['Read(.env)', 'Read(//etc/shadow)', 'Edit(src/**)', 'WebFetch(domain:*.evil.example)', \
         'Bash(rm *)', 'PowerShell(Remove-Item *)', 'mcp__db__drop', 'WebSearch(query:*secret*)']\n\
         ask = ['mcp__db']\nallow = ['Read(docs/**)', 'Edit(docs/**)', 'WebFetch(domain:a.example)', 'mcp__mail']",
        &[
            ("Read", json!({"file_path": ".env"}), Deny),
            ("read_file", json!({"path": "sub/.env"}), Deny),
            ("Read", json!({"file_path": "/etc/shadow"}), Deny),
            ("Write", json!({"file_path": ".env", "content": ""}), Deny),
            ("Grep", json!({"pattern": "x", "path": ".env"}), Deny),
            ("Glob", json!({"pattern": "/etc/shadow"}), Deny),
            ("Glob", json!({"pattern": "**/*.rs"}), Allow),
            ("Read", json!({"file_path": "a.md"}), Allow),
            ("Read", json!({"file_path": "/etc/hosts"}), Ask),
            ("Write", json!({"file_path": "src/x"}), Deny),
            ("NotebookEdit", json!({"notebook_path": "src/x"}), Deny),
            ("Write", json!({"file_path": "docs/x"}), Allow),
            ("Write", json!({"file_path": "x"}), Ask),
            ("Write", json!({}), Ask),
            ("WebFetch", json!({"url": "https://u@x.evil.example:1/"}), Deny),
            ("WebFetch", json!({"url": "https://a.example/x"}), Allow),
            ("WebFetch", json!({"url": "https://b.example/x"}), Ask),
            ("WebFetch", json!({"url": "https:///"}), Ask),
            ("WebSearch", json!({"query": "the secret of"}), Deny),
            ("Monitor", json!({"command": "true; rm x"}), Deny),
            ("PowerShell", json!({"command": "ls; remove-item x"}), Deny),
            ("PowerShell", json!({"command": "ls"}), Ask),
            ("mcp__db__drop", json!({}), Deny),
            ("mcp__db__read", json!({}), Ask),
            ("mcp__mail__send", json!({}), Allow),
            ("mcp__fs__get", json!({"path": ".env"}), Deny),
            ("mcp__sh__run", json!({"command": "rm x"}), Deny),
            ("Unheard", json!({}), Ask),
        ],
    );
}

#[test]
fn where_no_rule_says_anything_the_mode_decides_without_a_box() {
    use Decision::{Allow, Ask, Deny};
    for (mode, inside, outside, other) in [
        ("default", Ask, Ask, Ask),
        ("accept-edits", Allow, Ask, Ask),
        ("plan", Deny, Ask, Ask),
        ("auto", Allow, Ask, Ask),
        ("dont-ask", Deny, Deny, Deny),
        ("bypass", Allow, Allow, Allow),
    ] {
        let cases = [
            ("Read", json!({"file_path": "a.md"}), Allow),
            ("Write", json!({"file_path": "a.md"}), inside),
            ("Write", json!({"file_path": "/mnt/x"}), outside),
            // Programs and shells start from there: no mode lets that be written by the way.
            ("Write", json!({"file_path": "/etc/x"}), outside.max(Ask)),
            ("WebFetch", json!({"url": "https://a.example"}), other),
            ("mcp__a__b", json!({}), other),
        ];
        decides(mode, "", &cases);
    }
    let hooks = [("Write", json!({"file_path": ".git/hooks/pre-commit"}), Ask)];
    decides("accept-edits", "allow = ['Edit']", &hooks);
}

#[test]
fn a_tool_that_is_not_ours_is_decided_about_and_never_run() {
    let project = Project::new();
    let policy =
        Policy::from_text(&project.root().join("x.toml"), "rules.allow = ['Read']").unwrap();
    let examiner = project.examiner(policy.clone());
    let read = call("Read", &json!({"file_path": "/etc/hosts"}));
    let ruling = examiner.examine(&read).ruling;
    assert_eq!((ruling.decision, ruling.by), (Decision::Allow, By::Rule));
    let report = project.stockade(policy).run(read);
    assert!(report.denied(), "{report:?}");
}
