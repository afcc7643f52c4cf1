//! Hooks that say no, and those that fail, which is the same.

use std::fs;

use serde_json::json;
use stockade::ToolCall;

use super::{echo, hooked, journal, pre};
use crate::support::{Project, text, unboxed};

#[test]
fn a_hook_that_blocks_refuses_and_is_named_in_report_and_journal() {
    let project = Project::new();
    let report = project.run_with(pre(&project, "echo not today >&2; exit 2"), echo());
    assert_eq!((&report["denied"], &report["exit_code"]), (&json!(true), &json!(-100)));
    assert_eq!((&report["by"], &report["rule"]), (&json!("hook"), &json!("guard")));
    assert_eq!(report["reason"], r#"the hook "guard" refuses this: not today"#);
    let source = format!("{}:1", project.beside("own.toml").display());
    assert_eq!(report["source"], source);
    let entries = journal(&project);
    assert_eq!(entries.len(), 1);
    assert_eq!((&entries[0]["decision"], &entries[0]["by"]), (&json!("deny"), &json!("hook")));
    assert_eq!((&entries[0]["rule"], &entries[0]["source"]), (&json!("guard"), &json!(source)));
}

#[test]
fn a_silent_hook_changes_nothing() {
    let project = Project::new();
    for line in ["cat >/dev/null", "exit 0", "echo fine", "echo '{}'", "exec <&- >&- 2>&-"] {
        let report = project.run_with(pre(&project, line), echo());
        assert_eq!((&report["ok"], &report["by"]), (&json!(true), &json!("mode")), "{report}");
        assert_eq!(report["stdout"], "hello\n");
    }
}

/// Every way in which a command can fail is a refusal in its name.
#[test]
fn a_hook_that_fails_refuses() {
    let project = Project::new();
    for (line, part) in [
        ("exit 1", "exited with 1"),
        ("echo oops >&2; exit 7", "exited with 7: oops"),
        ("no-such-guard", "exited with 127"),
        ("kill -9 $$", "signal 9"),
        ("kill -SEGV $$", "signal 11"),
        ("echo '{\"decision\":'", message!("line.cannot-understood")),
        ("echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"yes\"}}'", "permissionDecision"),
        ("head -c 2000000 /dev/zero", message!("run.wrote-more-than-read")),
        ("head -c 2000000 /dev/zero >&2", message!("run.wrote-more-than-read")),
        ("cat /dev/zero", "limit"),
    ] {
        let report = project.run_with(pre(&project, line), echo());
        assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{line}");
        let reason = text(&report, "reason");
        assert!(
            reason.starts_with("the hook \"guard\" failed") && reason.contains(part),
            "{reason}"
        );
        assert!(text(&report, "instead").contains("repaired"), "{report}");
    }
}

#[test]
fn a_hook_that_is_not_there_or_cannot_run_refuses() {
    let project = Project::new();
    let file = |name: &str, text: &str| {
        fs::write(project.beside(name), text).unwrap();
        fs::set_permissions(
            project.beside(name),
            <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755),
        )
        .unwrap();
    };
    file("no-interpreter", "#!/no/such/interpreter\n");
    file("no-program", "neither a program nor a script\n");
    fs::write(project.beside("not-executable"), "#!/bin/sh\n").unwrap();
    for (command, part) in [
        ("./missing", message!("hook.no-such-program")),
        ("no-such-program-anywhere", message!("hook.no-such-program")),
        ("./no-interpreter", "could not"),
        ("./no-program", "could not"),
        ("./not-executable", message!("hook.no-file-can-executed")),
        ("./tmp", message!("hook.no-file-can-executed")),
    ] {
        let declared = format!("[[hook]]\nevent = 'pre'\ncommand = ['{command}']\n");
        let report = project.run_with(hooked(&project, &declared), echo());
        let reason = text(&report, "reason");
        assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{report}");
        assert!(
            reason.contains(message!("run.could-not-started")) && reason.contains(part),
            "{reason}"
        );
    }
}

#[test]
fn a_policy_with_commands_and_a_gate_without_a_runner_refuses() {
    use stockade::gate::{Examiner, Gate, Verdict};
    use stockade::inspect::Root;
    use stockade::journal::{Durability, Journal};
    let project = Project::new();
    let examiner = Examiner::new(Root::open(&project.root()).unwrap(), pre(&project, "exit 0"));
    let gate =
        Gate::new(examiner, Journal::open(&project.journal(), Durability::default()).unwrap());
    let Verdict::Refused(refusal) = gate.judge(&echo()) else { panic!() };
    assert!(refusal.reason.contains(message!("run.commands-not-run-program")), "{refusal:?}");
}

#[test]
fn a_call_that_is_no_text_is_not_shown_and_not_run() {
    let project = Project::new();
    let raw = <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(b"a\xff".to_vec());
    let call = || ToolCall::exec(["echo".into(), raw.clone()]);
    assert_eq!(project.run_with(unboxed(), call())["ok"], true);
    let report = project.run_with(pre(&project, "exit 0"), call());
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{report}");
    assert!(text(&report, "reason").contains("not text"), "{report}");
}
