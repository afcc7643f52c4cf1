//! Whatever goes wrong, the exit status is 2 and the answer is no.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{bash, sent};
use crate::support::{Project, Told, eventually};

/// Status 2, a refusal as JSON, and its reason on standard error, where one of the agents looks.
#[track_caller]
fn refused(told: &Told) -> Value {
    assert_eq!(told.code, 2, "{told:?}");
    assert!(told.stderr.starts_with("refused: "), "{told:?}");
    let output = told.json()["hookSpecificOutput"].clone();
    let reason = if output["hookEventName"] == "PermissionRequest" {
        assert_eq!(output["decision"]["behavior"], "deny", "{told:?}");
        &output["decision"]["message"]
    } else {
        assert_eq!(output["hookEventName"], "PreToolUse", "{told:?}");
        assert_eq!(output["permissionDecision"], "deny", "{told:?}");
        &output["permissionDecisionReason"]
    };
    assert_eq!(reason.as_str().unwrap().lines().count(), 3, "{told:?}");
    output
}

#[test]
fn what_is_no_event() {
    let project = Project::new();
    let deep = format!("{{\"tool_input\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let inputs: [&[u8]; 10] = [
        b"",
        b" \n ",
        b"ls",
        b"{\"hook_event_name\":",
        b"\xff\xfe{}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}}",
        b"[]",
        b"null",
        b"{}",
        deep.as_bytes(),
    ];
    for input in inputs {
        for phase in ["pre", "post"] {
            refused(&project.fed(&["hook", phase], input));
        }
    }
}

#[test]
fn fields_that_are_missing_or_of_the_wrong_kind() {
    let project = Project::new();
    for field in ["hook_event_name", "tool_name", "tool_input"] {
        let mut event = bash(&project, "ls");
        event.as_object_mut().unwrap().remove(field);
        refused(&sent(&project, &["pre"], &event));
        for wrong in [json!(null), json!(3), json!(["ls"]), json!("")] {
            event[field] = wrong;
            refused(&sent(&project, &["pre"], &event));
        }
    }
    for wrong in [json!(null), json!(3), json!(["ls"]), json!({"command": 1}), json!({})] {
        let mut event = bash(&project, "ls");
        event["tool_input"] = wrong.clone();
        refused(&sent(&project, &["pre"], &event));
        event["tool_input"] = json!({"command": wrong});
        refused(&sent(&project, &["pre"], &event));
    }
    for (field, wrong) in
        [("cwd", json!(1)), ("permission_mode", json!({})), ("tool_use_id", json!([]))]
    {
        let mut event = bash(&project, "ls");
        event[field] = wrong;
        refused(&sent(&project, &["pre"], &event));
    }
}

#[test]
fn an_event_about_a_tool_that_nobody_knows() {
    let project = Project::new();
    let mut event = bash(&project, "ls");
    event["hook_event_name"] = json!("BeforeToolTomorrow");
    refused(&sent(&project, &["pre"], &event));
    // One that `pre` decides must not pass because `post` was asked.
    refused(&sent(&project, &["post"], &bash(&project, "ls")));
}

#[test]
fn a_command_that_was_typed_wrongly() {
    let project = Project::new();
    let mut request = bash(&project, "ls");
    request["hook_event_name"] = json!("PermissionRequest");
    let all: [&[&str]; 7] = [
        &["pre", "--bogus"],
        &["pre", "--format", "nobody"],
        &["pre", "--mode", "loose"],
        &["pre", "extra"],
        &["pre", "--no-box", "--tier", "jail"],
        &["during"],
        &[],
    ];
    for args in all {
        assert_eq!(
            refused(&sent(&project, args, &bash(&project, "ls")))["hookEventName"],
            "PreToolUse"
        );
        assert_eq!(refused(&sent(&project, args, &request))["hookEventName"], "PermissionRequest");
    }
    // Where the event never ends, the answer does not wait for it.
    let mut waiting = project.command(&["hook", "pre", "--bogus"]);
    let mut child = waiting.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(started.elapsed() < Duration::from_secs(120));
    drop(open);
    // Help is what was asked for, by a person.
    assert_eq!(project.stockade(&["hook", "pre", "--help"]).code, 0);
}

#[test]
fn files_that_cannot_be_used() {
    let project = Project::new();
    let bad = project.beside("bad.toml");
    std::fs::write(&bad, "mode = \"auto\"\nnonsense = 1\n").unwrap();
    let bad = bad.to_str().unwrap();
    let ls = bash(&project, "ls");
    refused(&sent(&project, &["pre", "--policy", bad], &ls));
    refused(&sent(&project, &["pre", "--policy", "/no/such/file"], &ls));
    refused(&sent(&project, &["pre", "--settings", bad], &ls));
    refused(&sent(&project, &["pre", "--root", "/no/such/folder"], &ls));
    refused(&sent(&project, &["pre", "--journal", "/proc/no/journal"], &ls));
    std::fs::create_dir_all(project.beside("state/stockade")).unwrap();
    std::fs::create_dir(project.journal()).unwrap();
    refused(&sent(&project, &["pre"], &ls));
    std::fs::remove_dir(project.journal()).unwrap();
    project.write("stockade.toml", "[rules\n");
    refused(&sent(&project, &["pre"], &ls));
}

#[test]
fn a_bypass_that_settings_forbid() {
    let project = Project::new();
    let settings = project.beside("s.json");
    std::fs::write(&settings, r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#)
        .unwrap();
    let args = ["pre", "--settings", settings.to_str().unwrap(), "--mode", "bypass"];
    refused(&sent(&project, &args, &bash(&project, "ls")));
}

#[test]
fn a_fault_of_our_own() {
    let project = Project::new();
    for name in ["PreToolUse", "PermissionRequest", "SessionStart"] {
        let mut event = bash(&project, "ls");
        event["hook_event_name"] = json!(name);
        let mut command = project.command(&["hook", "pre"]);
        command.env("STOCKADE_HOOK_FAULT", "panic").stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = refused(&Told::from(output));
        let expected = if name == "SessionStart" { "PreToolUse" } else { name };
        assert_eq!(said["hookEventName"], expected);
    }
}

#[test]
fn an_answer_that_nobody_can_hear() {
    let project = Project::new();
    let path = super::policy(&project, "[rules]\ndeny = [\"Bash(ls)\"]");
    let answered = |out: Stdio, close: bool, line: &str| {
        let mut command = project.command(&["hook", "pre", "--policy", &path]);
        command.stdin(Stdio::piped()).stdout(out);
        if close {
            let binary = command.get_program().to_owned();
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" hook pre --policy \"$1\" >&-"]).arg(binary).arg(&path);
            shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.current_dir(project.path("")).stdin(Stdio::piped()).stderr(Stdio::piped());
            command = shell;
        }
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(bash(&project, line).to_string().as_bytes()).unwrap();
        Told::from(child.wait_with_output().unwrap())
    };
    let null = || Stdio::from(File::options().write(true).open("/dev/null").unwrap());
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let told = answered(null(), false, "ls");
    assert_eq!((told.code, told.stderr.starts_with("refused: ")), (2, true), "{told:?}");
    assert_eq!(answered(full(), false, "ls").code, 2);
    assert_eq!(answered(full(), false, "pwd").code, 2);
    assert_eq!(answered(null(), true, "ls").code, 2);
    // Nor would a question be put, or a line run in the box.
    assert_eq!(answered(null(), false, "touch x").code, 2);
    assert_eq!(answered(null(), false, "pwd").code, 2);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(answered(writer.into(), false, "ls").code, 2);
}

#[test]
fn ten_megabytes_are_an_event_and_what_is_larger_than_the_bound_is_none() {
    let project = Project::new();
    let content = "x".repeat(10 << 20);
    let write = super::event(
        &project,
        "Write",
        &json!({"file_path": project.path("a"), "content": content}),
    );
    super::silent(&sent(&project, &["pre"], &write));
    let long = format!("echo {content}");
    assert_eq!(
        super::decision(&project, &["pre", "--mode", "bypass"], &bash(&project, &long)),
        "deny"
    );
    // One that is too long only with its quotes would be no argument either: there is no box for it.
    let long = format!("echo \"{}\"", "'".repeat(60 << 10));
    refused(&sent(&project, &["pre", "--mode", "bypass"], &bash(&project, &long)));
    refused(&project.fed(&["hook", "pre"], &vec![b' '; (64 << 20) + 1]));
}

#[test]
fn another_user_without_a_home_and_without_rights() {
    if !rustix::process::geteuid().is_root() {
        crate::support::skip("root", "only root can become another user");
        return;
    }
    let project = Project::new();
    let mut command = project.command(&["hook", "pre"]);
    // The home and the state of the test are closed to it: no journal, so no call.
    command.uid(65534).gid(65534).current_dir("/").stdin(Stdio::piped());
    if std::fs::metadata(env!("CARGO_BIN_EXE_stockade")).is_ok() {
        let Ok(mut child) = command.spawn() else {
            crate::support::skip(
                "shared-target",
                "another user cannot start the program under test",
            );
            return;
        };
        child.stdin.take().unwrap().write_all(bash(&project, "ls").to_string().as_bytes()).unwrap();
        refused(&Told::from(child.wait_with_output().unwrap()));
    }
}

/// The signals that end no process, or only stop it, and that can be blocked.
const HARMLESS: [i32; 8] = [13, 17, 18, 20, 21, 22, 23, 28];

/// A hook whose parent waits for its child, with an open pipe for its event.
fn waiting_hook(project: &Project) -> Child {
    let mut command = project.command(&["hook", "pre"]);
    let hook = command.stdin(Stdio::piped()).spawn().unwrap();
    let waits = || {
        // Before it has blocked signals it has no child.
        !children(hook.id()).is_empty()
    };
    assert!(eventually(Duration::from_secs(60), waits));
    hook
}

/// Signals without a name of their own are sent by number.
fn kill(hook: &Child, signal: i32) {
    let (signal, pid) = (format!("-{signal}"), hook.id().to_string());
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// What a hook says that has to end; one that does not is killed.
fn told_by(mut hook: Child) -> Told {
    let has_ended = eventually(Duration::from_secs(120), || hook.try_wait().unwrap().is_some());
    if !has_ended {
        for process in children(hook.id()).into_iter().chain([hook.id().cast_signed()]) {
            let process = Pid::from_raw(process).unwrap();
            let _gone = kill_process(process, Signal::KILL).is_err();
        }
    }
    let told = Told::from(hook.wait_with_output().unwrap());
    assert!(has_ended, "it waits for ever: {told:?}");
    told
}

/// An agent takes a hook that ended otherwise for one that has nothing to say, and runs the tool.
#[test]
fn a_hook_that_a_signal_ends_refuses() {
    let project = Project::new();
    // 9 and 19 cannot be blocked, and nobody but the kernel knows of 32 and 33.
    let ending = (1..=64).filter(|one| ![9, 19, 32, 33].contains(one) && !HARMLESS.contains(one));
    for signal in ending {
        let mut hook = waiting_hook(&project);
        // Its event does not end meanwhile.
        let _event = hook.stdin.take();
        kill(&hook, signal);
        let told = told_by(hook);
        refused(&told);
        assert!(told.stderr.contains(&format!("signal {signal}\n")), "{told:?}");
    }
}

/// The control for the signals that end it.
#[test]
fn a_hook_that_gets_a_signal_which_ends_nothing_goes_on() {
    let project = Project::new();
    for signal in HARMLESS {
        let mut hook = waiting_hook(&project);
        kill(&hook, signal);
        let event = bash(&project, "ls").to_string();
        hook.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        let told = told_by(hook);
        assert_eq!(told.code, 0, "{signal}: {told:?}");
    }
}

/// A process that is stopped has no clock. Its parent has one.
#[test]
fn a_process_that_decides_and_is_stopped_refuses_all_the_same() {
    let project = Project::new();
    let mut event = bash(&project, "ls");
    event["hook_event_name"] = json!("PermissionRequest");
    let mut command = project.command(&["hook", "pre"]);
    command.env("STOCKADE_HOOK_FAULT", "hang").stdin(Stdio::piped());
    let mut hook = command.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    assert!(eventually(Duration::from_secs(60), || !children(hook.id()).is_empty()));
    // It sleeps in its fault by then, and has told the kind of the event.
    std::thread::sleep(Duration::from_secs(1));
    let child = children(hook.id())[0];
    kill_process(Pid::from_raw(child).unwrap(), Signal::STOP).unwrap();
    let told = told_by(hook);
    assert_eq!(refused(&told)["hookEventName"], "PermissionRequest");
    assert!(told.stderr.contains(message!("guard.not-ended-in-time")), "{told:?}");
    assert!(!std::path::Path::new(&format!("/proc/{child}/stat")).exists(), "it is gone");
}

/// The children of a process.
fn children(parent: u32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    list.unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn a_process_that_decides_and_is_killed_refuses_all_the_same() {
    let project = Project::new();
    for (name, signal) in [
        ("PreToolUse", Signal::KILL),
        ("PreToolUse", Signal::SEGV),
        ("PreToolUse", Signal::BUS),
        ("PermissionRequest", Signal::KILL),
    ] {
        let mut event = bash(&project, "ls");
        event["hook_event_name"] = json!(name);
        let mut command = project.command(&["hook", "pre"]);
        command.env("STOCKADE_HOOK_FAULT", "hang").stdin(Stdio::piped());
        let mut hook = command.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        // Once its threads are there, the event was read or is being read.
        let decides = || {
            let child = *children(hook.id()).first()?;
            let threads = std::fs::read_dir(format!("/proc/{child}/task")).ok()?.count();
            let reads = std::fs::read_to_string(format!("/proc/{child}/wchan")).ok()?;
            (threads > 1 && !reads.contains("pipe")).then_some(child)
        };
        assert!(eventually(Duration::from_secs(60), || decides().is_some()));
        // It sleeps in its fault by then, and has told the kind of the event.
        std::thread::sleep(Duration::from_millis(500));
        kill_process(Pid::from_raw(decides().unwrap()).unwrap(), signal).unwrap();
        let output = refused(&Told::from(hook.wait_with_output().unwrap()));
        assert_eq!(output["hookEventName"], name);
    }
}
