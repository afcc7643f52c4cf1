//! `stockade install`: the settings of a person, edited as they would have done it.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Project, Told};

const SETTINGS: &str =
    "{\n    // mine\n    \"model\": \"m\", // keep\n    \"env\": {\"A\": \"b\"}\n}\n";

fn with_settings(text: &str) -> (Project, std::path::PathBuf) {
    let project = Project::new();
    std::fs::create_dir(project.beside("home/.claude")).unwrap();
    let path = project.beside("home/.claude/settings.json");
    std::fs::write(&path, text).unwrap();
    (project, path)
}

fn command_in(path: &std::path::Path) -> String {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

#[test]
fn it_goes_in_once_and_out_without_a_trace() {
    let (project, path) = with_settings(SETTINGS);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(project.stockade(&["install", "claude"]).code, 0);
    let with = std::fs::read_to_string(&path).unwrap();
    assert!(with.starts_with("{\n    // mine\n    \"model\": \"m\", // keep\n"), "{with}");
    assert!(with.contains("\n    \"hooks\": {\n        \"PreToolUse\": ["), "{with}");
    let again = project.stockade(&["install", "claude"]);
    assert!(again.stdout.contains("already"), "{again:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), with);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(project.stockade(&["install", "claude", "--remove"]).code, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SETTINGS);
    let none = project.stockade(&["install", "claude", "--remove"]);
    assert!(none.code == 0 && none.stdout.contains(message!("install.not")), "{none:?}");
    let left: Vec<_> = std::fs::read_dir(project.beside("home/.claude")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_dry_run_shows_a_diff_that_patch_takes_and_writes_nothing() {
    let (project, path) = with_settings(SETTINGS);
    let told = project.stockade(&["install", "claude", "--dry-run"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stdout.starts_with("--- ") && told.stdout.contains("\n+    \"hooks\": {\n"),
        "{told:?}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SETTINGS);
    std::fs::write(project.path("settings.json"), SETTINGS).unwrap();
    let mut tool = Command::new("patch");
    tool.args(["-s", "settings.json"]).current_dir(project.path("")).stdin(Stdio::piped());
    match tool.spawn() {
        Ok(mut child) => {
            let mut input = child.stdin.take().unwrap();
            std::io::Write::write_all(&mut input, told.stdout.as_bytes()).unwrap();
            drop(input);
            assert!(child.wait().unwrap().success());
            project.stockade(&["install", "claude"]);
            let patched = std::fs::read_to_string(project.path("settings.json")).unwrap();
            assert_eq!(patched, std::fs::read_to_string(&path).unwrap());
        }
        Err(_) => crate::support::skip("patch", "there is no patch here"),
    }
    let absent = Project::new();
    let told = absent.stockade(&["install", "claude", "--dry-run"]);
    assert!(told.stdout.starts_with("--- /dev/null\n"), "{told:?}");
    assert!(!absent.beside("home/.claude").exists());
}

#[test]
fn a_broken_file_is_named_with_its_place_and_left_alone() {
    let broken = "{\n  \"model\": \"m\"\n  \"env\": {}\n}\n";
    let (project, path) = with_settings(broken);
    for more in [&[][..], &["--remove"], &["--dry-run"]] {
        let args: Vec<&str> = ["install", "claude"].iter().chain(more).copied().collect();
        let told = project.stockade(&args);
        assert_eq!(told.code, 125, "{told:?}");
        assert!(told.stderr.contains("settings.json:3:3"), "{told:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
    }
}

#[test]
fn a_link_is_edited_where_it_leads_and_a_project_leads_nowhere_else() {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("home/.claude")).unwrap();
    std::fs::write(project.beside("kept.json"), "{}\n").unwrap();
    let link = project.beside("home/.claude/settings.json");
    symlink(project.beside("kept.json"), &link).unwrap();
    assert_eq!(project.stockade(&["install", "claude"]).code, 0);
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(project.beside("kept.json")).unwrap().contains("hook pre"));
    project.stockade(&["install", "claude", "--remove"]);
    assert_eq!(std::fs::read_to_string(project.beside("kept.json")).unwrap(), "{}\n");
    std::fs::create_dir(project.path(".claude")).unwrap();
    symlink(project.beside("kept.json"), project.path(".claude/settings.json")).unwrap();
    let told = project.stockade(&["install", "claude", "--scope", "project"]);
    assert!(
        told.code == 125 && told.stderr.contains(message!("settings-file.leads-out-project-where")),
        "{told:?}"
    );
    assert_eq!(std::fs::read_to_string(project.beside("kept.json")).unwrap(), "{}\n");
}

#[test]
fn every_scope_of_every_agent_has_its_file() {
    let project = Project::new();
    for (args, path) in [
        (&["claude"][..], "home/.claude/settings.json"),
        (&["claude", "--scope", "project"], "work/.claude/settings.json"),
        (&["claude", "--scope", "local"], "work/.claude/settings.local.json"),
        (&["codex"], "home/.codex/hooks.json"),
        (&["codex", "--scope", "project"], "work/.codex/hooks.json"),
    ] {
        let install: Vec<&str> = ["install"].iter().chain(args).copied().collect();
        let told = project.stockade(&install);
        assert_eq!(told.code, 0, "{told:?}");
        assert!(
            command_in(&project.beside(path)).contains("stockade hook pre --format "),
            "{path}"
        );
        let remove: Vec<&str> = install.iter().copied().chain(["--remove"]).collect();
        assert_eq!(project.stockade(&remove).code, 0);
        assert!(!project.beside(path).exists(), "{path}");
    }
    assert_eq!(project.stockade(&["install", "codex", "--scope", "local"]).code, 125);
    let mut command = project.command(&["install", "codex"]);
    command.env("CODEX_HOME", project.beside("elsewhere"));
    assert_eq!(Told::from(command.output().unwrap()).code, 0);
    assert!(project.beside("elsewhere/hooks.json").exists());
}

/// Starts a command of settings as the agent does.
fn asked(project: &Project, command: &str, event: &Value) -> Told {
    let mut shell = Command::new("sh");
    let like = project.command(&[]);
    shell.args(["-c", command]).current_dir(project.path("")).env_clear();
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    // A program that is gone reads nothing.
    let _unread =
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.to_string().as_bytes())
            .is_err();
    Told::from(child.wait_with_output().unwrap())
}

#[test]
fn what_is_installed_answers_and_refuses_when_the_program_is_gone() {
    for (agent, file) in
        [("claude", "home/.claude/settings.json"), ("codex", "home/.codex/hooks.json")]
    {
        let project = Project::new();
        // The command names the program that installs it, so that one is needed which can go.
        let program = project.beside("it's a stockade");
        crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), &program);
        let mut install = Command::new(&program);
        let like = project.command(&[]);
        install.args(["install", agent]).current_dir(project.path("")).env_clear();
        install.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        assert!(install.output().unwrap().status.success());
        let command = command_in(&project.beside(file));
        let event = json!({
            "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Bash",
            "cwd": project.path(""), "tool_input": {"command": "make"},
        });
        let told = asked(&project, &command, &event);
        assert_eq!(told.code, 0, "{told:?}");
        let expected = if agent == "codex" { "allow" } else { "ask" };
        assert_eq!(told.json()["hookSpecificOutput"]["permissionDecision"], expected, "{told:?}");
        let told = asked(&project, &command, &json!([]));
        assert_eq!(told.code, 2, "{told:?}");
        crate::support::write_script(&program, "#!/bin/sh\nkill -SEGV $$\n");
        let told = asked(&project, &command, &event);
        assert!(
            told.code == 2 && told.stderr.contains(message!("install.gave-no-answer")),
            "{told:?}"
        );
        std::fs::remove_file(&program).unwrap();
        let told = asked(&project, &command, &event);
        assert!(
            told.code == 2 && told.stderr.contains(message!("install.gave-no-answer")),
            "{told:?}"
        );
    }
}

/// A project that is not ours to trust must not have settings elsewhere written.
#[test]
fn the_folder_of_a_project_leads_nowhere_else_either() {
    let project = Project::new();
    std::fs::create_dir(project.beside("theirs")).unwrap();
    symlink(project.beside("theirs"), project.path(".claude")).unwrap();
    symlink(project.beside("theirs"), project.path(".codex")).unwrap();
    for args in
        [["install", "claude", "--scope", "project"], ["install", "claude", "--scope", "local"]]
            .iter()
            .chain(&[["install", "codex", "--scope", "project"]])
    {
        let told = project.stockade(args);
        assert!(
            told.code == 125
                && told.stderr.contains(message!("settings-file.leads-out-project-where")),
            "{told:?}"
        );
    }
    assert_eq!(std::fs::read_dir(project.beside("theirs")).unwrap().count(), 0);
    // The control: the person's own folder may be a link.
    symlink(project.beside("theirs"), project.beside("home/.claude")).unwrap();
    assert_eq!(project.stockade(&["install", "claude"]).code, 0);
    assert!(project.beside("theirs/settings.json").exists());
}

#[test]
fn what_is_no_file_or_no_settings_is_named_and_left_alone() {
    let (project, path) = with_settings("");
    let refused = |part: &str| {
        for more in ["--dry-run", "--remove"] {
            let told = project.stockade(&["install", "claude", more]);
            assert!(told.code == 125 && told.stderr.contains(part), "{part}: {told:?}");
        }
        let told = project.stockade(&["install", "claude"]);
        assert!(told.code == 125 && told.stderr.contains(part), "{part}: {told:?}");
    };
    for (text, part) in [
        ("", "settings.json:1:1"),
        ("[]", message!("edit.settings-object")),
        ("{\"hooks\": {}, \"hooks\": {}}", "there twice"),
        ("{\"hooks\": {} /* no end", "no end"),
        ("{} {}", message!("document.nothing-expected-here")),
    ] {
        std::fs::write(&path, text).unwrap();
        refused(part);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    std::fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    refused("UTF-8");
    std::fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    refused("(os error 40)");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(message!("bounded.not-regular-file"));
    std::fs::remove_dir(&path).unwrap();
    // Nobody writes into it, and nobody waits for that.
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    refused(message!("bounded.not-regular-file"));
}

#[test]
fn hooks_of_others_stay_theirs() {
    let theirs = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [\
                  {\"type\": \"command\", \"command\": \"stockade-lint hook prepare\"}, \
                  {\"type\": \"command\", \"command\": \"./mine hook pre\"}]}]}}\n";
    let (project, path) = with_settings(theirs);
    assert_eq!(project.stockade(&["install", "claude"]).code, 0);
    let with = std::fs::read_to_string(&path).unwrap();
    assert!(
        with.contains("stockade-lint hook prepare") && with.contains("./mine hook pre"),
        "{with}"
    );
    assert_eq!(project.stockade(&["install", "claude", "--remove"]).code, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), theirs);
}

/// A program of another name knows its own command again.
#[test]
fn it_is_found_again_whatever_the_program_is_called() {
    let (project, path) = with_settings("{}\n");
    let program = project.beside("guard");
    crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), &program);
    let install = |more: &[&str]| {
        let mut install = Command::new(&program);
        let like = project.command(&[]);
        install.args(["install", "claude"]).args(more).current_dir(project.path("")).env_clear();
        install.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Told::from(install.output().unwrap())
    };
    assert_eq!(install(&[]).code, 0);
    let again = install(&[]);
    assert!(again.stdout.contains("already"), "{again:?}");
    assert_eq!(install(&["--remove"]).code, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
}
