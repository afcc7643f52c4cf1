//! Hooks as real commands and closures, through the whole pipeline.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stockade::hooks::{Replacement, Reply};
use stockade::policy::rule::Rule;
use stockade::policy::{Decision, Mode};
use stockade::{Policy, ToolCall};

use crate::jail;
use crate::support::{Project, eventually, exec, json as report_of, marked, marker, text, unboxed};

/// The hooks of this file, in the process tier. The file lies beside the project.
fn hooked(project: &Project, hooks: &str) -> Policy {
    let declared = Policy::from_text(&project.beside("own.toml"), hooks).unwrap().hooks;
    Policy { hooks: declared, ..unboxed() }
}

/// One hook before calls: a shell line.
fn pre(project: &Project, line: &str) -> Policy {
    hooked(project, &format!("[[hook]]\nname = 'guard'\nevent = 'pre'\nshell = '''{line}'''\n"))
}

fn post(project: &Project, line: &str) -> Policy {
    hooked(project, &format!("[[hook]]\nname = 'after'\nevent = 'post'\nshell = '''{line}'''\n"))
}

fn with_rule(mut policy: Policy, text: &str, list: Decision) -> Policy {
    policy.rules = policy.rules.and(vec![Rule::parse(text, list).unwrap()]);
    policy
}

fn echo() -> ToolCall {
    exec(&["echo", "hello"])
}

fn journal(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.journal()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where a folder really is.
fn real(path: &Path) -> String {
    let folder = stockade::inspect::Root::open(path).unwrap();
    folder.path().to_str().unwrap().to_owned()
}

/// Says `what` in the protocol.
fn saying(what: &Value) -> String {
    format!("cat >/dev/null; printf %s \"{}\"", what.to_string().replace('"', "\\\""))
}

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
        ("echo '{\"decision\":'", "cannot be understood"),
        ("echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"yes\"}}'", "permissionDecision"),
        ("head -c 2000000 /dev/zero", "more than is read"),
        ("head -c 2000000 /dev/zero >&2", "more than is read"),
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
        ("./missing", "no such program"),
        ("no-such-program-anywhere", "no such program"),
        ("./no-interpreter", "could not"),
        ("./no-program", "could not"),
        ("./not-executable", "can be executed"),
        ("./tmp", "can be executed"),
    ] {
        let declared = format!("[[hook]]\nevent = 'pre'\ncommand = ['{command}']\n");
        let report = project.run_with(hooked(&project, &declared), echo());
        let reason = text(&report, "reason");
        assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{report}");
        assert!(reason.contains("could not be started") && reason.contains(part), "{reason}");
    }
}

#[test]
fn a_hook_reads_what_the_protocol_says() {
    let project = Project::new();
    let stockade =
        project.open(pre(&project, "cat > told.json")).with_session(stockade::hooks::Session {
            id: "s-1".to_owned(),
            transcript_path: "/tmp/t.jsonl".to_owned(),
            more: json!({"agent_type": "x", "cwd": "/lie"}).as_object().unwrap().clone(),
        });
    fs::create_dir(project.path("sub")).unwrap();
    let call = ToolCall::line("echo \"a  b\" | wc -l").in_folder("sub");
    let id = call.id.to_string();
    assert!(stockade.run(call).ok());
    let told: Value =
        serde_json::from_str(&fs::read_to_string(project.path("told.json")).unwrap()).unwrap();
    let sub = real(&project.path("sub"));
    assert_eq!(
        told,
        json!({
            "session_id": "s-1", "transcript_path": "/tmp/t.jsonl", "agent_type": "x",
            "cwd": sub, "permission_mode": "auto", "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "echo \"a  b\" | wc -l"},
            "tool_use_id": id,
        })
    );
}

#[test]
fn a_hook_for_bash_is_asked_about_a_single_program_too() {
    let project = Project::new();
    let declared = |matcher: &str| {
        let hook = "event = 'pre'\nshell = 'cat > told.json'";
        hooked(&project, &format!("[[hook]]\nmatch = '{matcher}'\n{hook}\n"))
    };
    let told = |matcher: &str| -> Option<Value> {
        let report = project.run_with(declared(matcher), exec(&["echo", "a b"]));
        assert_eq!(report["ok"], true, "{report}");
        let text = fs::read_to_string(project.path("told.json")).ok()?;
        fs::remove_file(project.path("told.json")).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    };
    let line = told("Bash").unwrap();
    assert_eq!(
        (&line["tool_name"], &line["tool_input"]),
        (&json!("Bash"), &json!({"command": "echo 'a b'"}))
    );
    for matcher in ["Exec", "*", "Ex.c", "Exec|Bash"] {
        let own = told(matcher).unwrap();
        assert_eq!(
            (&own["tool_name"], &own["tool_input"]["argv"]),
            (&json!("Exec"), &json!(["echo", "a b"]))
        );
    }
    assert_eq!(told("Read|Write"), None);
}

#[test]
fn a_condition_saves_the_hook_where_its_rule_is_not_about_the_call() {
    let project = Project::new();
    let declared = "[[hook]]\nevent = 'pre'\nmatch = 'Bash'\nif = 'Bash(wc *)'\nshell = 'exit 2'\n";
    let run = |line: &str| project.run_with(hooked(&project, declared), ToolCall::line(line));
    assert_eq!(run("echo hello")["ok"], true);
    assert_eq!(run("echo hello | wc -l")["by"], "hook");
    assert_eq!(run("echo $(wc -l </dev/null)")["by"], "hook");
    assert_eq!(run("x=w; ${x}c -l </dev/null")["by"], "hook");
}

#[test]
fn a_hook_has_a_clean_environment_no_terminal_and_no_descriptor_of_ours() {
    let project = Project::new();
    let line = "cat >/dev/null; env | sed 's/=.*//' | sort > names; pwd > folder; \
                ls /proc/self/fd > open; (: </dev/tty) 2>/dev/null && echo tty > terminal; \
                echo \"$CLAUDE_PROJECT_DIR $STOCKADE_HOOK_DIR $PATH $GIVEN\" > values; \
                test -d \"$HOME\" && test -d \"$TMPDIR\" && echo yes > home";
    let declared =
        format!("[[hook]]\nevent = 'pre'\nshell = '''{line}'''\nenv = ['GIVEN=x y', 'HOME']\n");
    assert_eq!(project.run_with(hooked(&project, &declared), echo())["ok"], true);
    let read = |name: &str| fs::read_to_string(project.path(name)).unwrap();
    let usual = ["CLAUDE_PROJECT_DIR", "GIVEN", "HOME", "PATH", "STOCKADE_HOOK_DIR", "TMPDIR"];
    let of_shell = ["PWD", "OLDPWD", "SHLVL", "_", "LANG", "LC_ALL"];
    let names: Vec<String> =
        read("names").lines().filter(|name| !of_shell.contains(name)).map(str::to_owned).collect();
    assert_eq!(names, usual);
    let root = real(&project.root());
    assert_eq!(read("folder"), format!("{root}\n"));
    let beside = project.beside("").display().to_string();
    let folder = beside.trim_end_matches('/');
    assert!(
        read("values").starts_with(&format!("{root} {folder} /usr/local/sbin:")),
        "{}",
        read("values")
    );
    assert!(read("values").ends_with(" x y\n"));
    // The last is the folder that ls itself has open.
    assert_eq!(read("open"), "0\n1\n2\n3\n");
    assert!(!project.path("terminal").exists());
    assert_eq!(read("home"), "yes\n");
}

#[test]
fn a_hook_that_writes_an_answer_to_every_descriptor_forges_nothing() {
    let project = Project::new();
    let script = r#"#!/bin/bash
cat >/dev/null
said='{"hookSpecificOutput":{"permissionDecision":"allow"}}'
for ((n = 3; n < 200; n++)); do echo "$said" >&$n; done 2>/dev/null
for file in /proc/$PPID/fd/* /proc/$$/fd/[3-9]*; do
  echo '{"ok":true,"decision":"allow"}' >"$file"
done 2>/dev/null
echo "$said" >&2
exit 2
"#;
    project.script("forge", script);
    let line = "exec \"$CLAUDE_PROJECT_DIR/forge\"";
    let policy = with_rule(pre(&project, line), "Bash(echo *)", Decision::Ask);
    let report = project.run_with(policy, echo());
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{report}");
    assert!(text(&report, "reason").contains("refuses this: {\"hook"), "{report}");
    let entries = journal(&project);
    assert_eq!((entries.len(), &entries[0]["decision"]), (1, &json!("deny")));
}

#[test]
fn a_hook_that_is_too_slow_is_ended_with_its_whole_tree() {
    let project = Project::new();
    let (a, b, c) = (marker(), marker(), marker());
    let line = format!(
        "sleep {a} & setsid sleep {b} >/dev/null 2>&1 </dev/null & (trap '' TERM; sleep {c}) & wait"
    );
    let declared = format!("[[hook]]\nevent = 'pre'\ntimeout = '500ms'\nshell = '''{line}'''\n");
    let started = Instant::now();
    let report = project.run_with(hooked(&project, &declared), echo());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")));
    assert!(text(&report, "reason").contains("did not answer within 500ms"), "{report}");
    let is_gone = || [&a, &b, &c].iter().all(|marker| marked(marker).is_empty());
    assert!(eventually(Duration::from_secs(5), is_gone));
}

#[test]
fn what_a_hook_leaves_behind_is_ended_too() {
    let project = Project::new();
    let marker = marker();
    let line = format!("setsid sleep {marker} >/dev/null 2>&1 </dev/null & exit 0");
    assert_eq!(project.run_with(pre(&project, &line), echo())["ok"], true);
    assert!(eventually(Duration::from_secs(5), || marked(&marker).is_empty()));
}

#[test]
fn hooks_run_at_once_and_the_same_command_once() {
    let project = Project::new();
    let slow = |n: u32| format!("[[hook]]\nevent = 'pre'\nshell = 'sleep 1; echo {n} >> ran'\n");
    let all: String = [1, 2, 3, 4, 4, 4].into_iter().map(slow).collect();
    let started = Instant::now();
    assert_eq!(project.run_with(hooked(&project, &all), echo())["ok"], true);
    assert!(started.elapsed() < Duration::from_millis(3500), "{:?}", started.elapsed());
    let ran = fs::read_to_string(project.path("ran")).unwrap();
    let mut ran: Vec<&str> = ran.lines().collect();
    ran.sort_unstable();
    assert_eq!(ran, ["1", "2", "3", "4"]);
}

#[test]
fn more_hooks_than_run_at_once_are_all_heard() {
    let project = Project::new();
    let quiet = |n: u32| format!("[[hook]]\nevent = 'pre'\nshell = 'echo {n} >> ran'\n");
    let all: String = (0..20).map(quiet).collect();
    assert_eq!(project.run_with(hooked(&project, &all), echo())["ok"], true);
    assert_eq!(fs::read_to_string(project.path("ran")).unwrap().lines().count(), 20);
}

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
    let stockade = project.open(Policy::shipped()).with_pre_hook("yes", |_| Reply::allow());
    let report = report_of(&stockade.run(ToolCall::line("rm -rf /")));
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("axis")), "{report}");
    assert!(text(&report, "rule").contains("critical"), "{report}");
}

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
        assert!(text(&report, "reason").contains("does not fit Bash"), "{report}");
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
    let run = |stockade: stockade::Stockade| report_of(&stockade.run(ToolCall::line("echo a")));
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let open = || project.open(unboxed()).with_pre_hook("wrap", nested);
    let report = run(open().with_pre_hook("count", move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Reply::silent()
    }));
    assert_eq!((&report["ok"], &report["stdout"]), (&json!(true), &json!("a\n")), "{report}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let report = run(open().with_pre_hook("no-nice", move |event| {
        if line(event).starts_with("nice") { Reply::deny("no nice") } else { Reply::silent() }
    }));
    assert_eq!((&report["denied"], &report["rule"]), (&json!(true), &json!("no-nice")), "{report}");
    let report = run(open().with_pre_hook("again", move |event| {
        if line(event).starts_with("nice") {
            Reply::silent().with_input(to("echo c"))
        } else {
            Reply::silent()
        }
    }));
    assert_eq!((&report["denied"], &report["rule"]), (&json!(true), &json!("again")), "{report}");
    assert!(text(&report, "reason").contains("once is the limit"), "{report}");
}

#[test]
fn closures_tighten_and_one_that_panics_or_hangs_refuses() {
    let project = Project::new();
    let within = |patience: Duration, hook: fn(&stockade::hooks::Event) -> Reply| {
        let stockade = project.open(unboxed()).with_pre_hook("inner", hook);
        report_of(&stockade.with_hook_patience(patience).run(echo()))
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
    assert!(text(&report, "reason").contains("did not answer within 300ms"), "{report}");
    let report = run(|_| Reply::silent().redacting("x"));
    assert!(text(&report, "reason").contains("there is no output yet"), "{report}");
    let report = run(|_| Reply::silent().stopping("budget"));
    assert_eq!(
        (&report["denied"], &report["stop"]),
        (&json!(true), &json!({"hook": "inner", "text": "budget"}))
    );
    let report = run(|_| Reply::silent().with_context("c").with_message("m"));
    assert_eq!(report["context"], json!([{"hook": "inner", "text": "c"}]));
    assert_eq!(report["messages"], json!([{"hook": "inner", "text": "m"}]));
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
    let stockade = project.open(unboxed()).with_post_hook("clean", |_| {
        let (stdout, stderr) = (Some("new\n".to_owned()), None);
        Reply::silent().with_output(Replacement { stdout, stderr })
    });
    let report = report_of(&stockade.run(call()));
    assert_eq!((&report["stdout"], &report["stderr"]), (&json!("new\n"), &json!("s3cret\n")));
    assert_eq!((&report["exit_code"], &report["ok"]), (&json!(4), &json!(false)));
}

#[test]
fn a_hook_that_fails_after_a_call_withholds_its_output() {
    let project = Project::new();
    for (line, part) in [
        ("exit 1", "exited with 1"),
        ("echo '{'", "cannot be understood"),
        ("kill -9 $$", "signal 9"),
    ] {
        let report = project.run_with(post(&project, line), echo());
        assert_eq!((&report["exit_code"], &report["redacted_by"]), (&json!(0), &json!(["after"])));
        let stdout = text(&report, "stdout");
        assert!(stdout.contains("output withheld") && stdout.contains(part), "{report}");
        assert!(!stdout.contains("hello"));
    }
    let stockade = project.open(unboxed()).with_post_hook("late", |_| Reply::deny("too late"));
    assert!(text(&report_of(&stockade.run(echo())), "stdout").contains("the call has run"));
}

#[test]
fn a_hook_whose_file_has_changed_refuses() {
    let project = Project::new();
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let guard = project.path("guard.sh");
    let declared = format!("[[hook]]\nevent = 'pre'\ncommand = ['{}']\n", guard.display());
    let stockade = project.open(hooked(&project, &declared));
    assert!(stockade.run(echo()).ok());
    // Touched, but the same.
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    assert!(stockade.run(echo()).ok());
    project.script("guard.sh", "#!/bin/sh\nexit 0 # really\n");
    let report = report_of(&stockade.run(echo()));
    assert!(text(&report, "reason").contains("has changed since"), "{report}");
    fs::remove_file(guard).unwrap();
    assert!(stockade.run(echo()).denied());
}

#[test]
fn a_call_in_the_jail_cannot_write_the_file_of_a_hook() {
    let Some(project) = jail::project() else { return };
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let declared =
        format!("[[hook]]\nevent = 'pre'\ncommand = ['{}']\n", project.path("guard.sh").display());
    let hooks = hooked(&project, &declared).hooks;
    let attack = "echo evil >> guard.sh; mv guard.sh x; rm guard.sh; ln -sf /bin/true guard.sh; cat guard.sh; true";
    // Without the hook it is a file like any other.
    let control = project
        .run_with(jail::jailed(|_| {}), ToolCall::line("echo evil >> guard.sh; cat guard.sh"));
    assert!(text(&control, "stdout").contains("evil"), "{control}");
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let report =
        project.run_with(jail::jailed(|policy| policy.hooks = hooks), ToolCall::line(attack));
    assert_eq!(text(&report, "stdout"), "#!/bin/sh\nexit 0\n", "{report}");
    assert_eq!(fs::read_to_string(project.path("guard.sh")).unwrap(), "#!/bin/sh\nexit 0\n");
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
    assert!(refusal.reason.contains("not run by this program"), "{refusal:?}");
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
    let control = project.open(unboxed()).with_pre_hook("a", rewrite);
    assert_eq!(report_of(&control.run(echo()))["stdout"], "taken");
    for name in ["a", "b"] {
        let stockade = project.open(unboxed()).with_pre_hook("a", rewrite);
        let report = report_of(&stockade.with_pre_hook(name, guard).run(echo()));
        assert!(text(&report, "reason").contains("not that"), "{name}: {report}");
    }
}
