//! The agent's own file tools: what decides about later calls, and what shells and programs start from,
//! is not written by the way, in the project and in the home folder, by any of its names.

use std::path::Path;

use serde_json::{Value, json};

use super::{decision, event, output, policy, sent, silent};
use crate::support::Project;

/// Calls of the tools by which agents write a file.
fn writes(path: &Path) -> Vec<(&'static str, Value)> {
    vec![
        ("Write", json!({"file_path": path, "content": "x"})),
        ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
        ("MultiEdit", json!({"file_path": path, "edits": []})),
        ("NotebookEdit", json!({"notebook_path": path, "new_source": "x"})),
        ("write_file", json!({"file_path": path, "content": "x"})),
        ("replace", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
        ("edit_file", json!({"target_file": path, "code_edit": "x"})),
        ("mcp__files__move_file", json!({"source": "a.txt", "destination": path})),
        ("mcp__files__write_files", json!({"paths": ["a.txt", path]})),
    ]
}

#[track_caller]
fn is_guarded(project: &Project, path: &Path) {
    for own in ["default", "auto", "bypass"] {
        // Where a person is there, a shipped rule may refuse all the same.
        for (mode, expected) in
            [("default", &["ask", "deny"][..]), ("bypassPermissions", &["deny"][..])]
        {
            for (tool, input) in writes(path) {
                let mut event = event(project, tool, &input);
                event["permission_mode"] = json!(mode);
                let said = decision(project, &["pre", "--mode", own], &event);
                let is_expected = expected.contains(&said.as_str());
                assert!(is_expected, "{tool} {} {own} {mode}: {said}", path.display());
            }
        }
    }
}

#[track_caller]
fn is_free(project: &Project, path: &Path) {
    for (tool, input) in writes(path) {
        let mut event = event(project, tool, &input);
        event["permission_mode"] = json!("bypassPermissions");
        silent(&sent(project, &["pre"], &event));
    }
}

#[test]
fn what_decides_about_later_calls_is_guarded_in_the_project() {
    let project = Project::new();
    for name in [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".mcp.json",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        "sub/.claude/settings.json",
        "stockade.toml",
        ".envrc",
        ".bashrc",
        ".CLAUDE/Settings.json",
        "a/../.claude/settings.json",
        "./.codex/hooks.json",
    ] {
        is_guarded(&project, &project.path(name));
    }
    for name in
        ["a.txt", "src/claude.rs", ".github/dependabot.yml", "docs/stockade.md", ".env.example"]
    {
        is_free(&project, &project.path(name));
    }
}

#[test]
fn start_up_files_and_settings_are_guarded_in_the_home_folder() {
    let project = Project::new();
    std::fs::create_dir(project.beside("home/work")).unwrap();
    for name in [
        ".claude/settings.json",
        ".claude.json",
        ".codex/config.toml",
        ".config/stockade/stockade.toml",
        ".config/autostart/x.desktop",
        ".bashrc",
        ".profile",
        ".zshrc",
        ".ssh/authorized_keys",
        ".ssh/config",
        ".gitconfig",
        ".local/bin/ls",
        "bin/ls",
        "work/../.bashrc",
        ".BASHRC",
    ] {
        is_guarded(&project, &project.beside("home").join(name));
    }
    is_guarded(&project, Path::new("/etc/profile.d/x.sh"));
    is_guarded(&project, &project.beside("state/stockade/trust.json"));
    is_guarded(&project, &project.journal());
    is_free(&project, &project.beside("home/work/a.txt"));
    is_free(&project, &project.beside("home/notes.md"));
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let project = Project::new();
    let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, project.path(name)).unwrap();
    link("notes.md", &project.beside("home/.bashrc"));
    link("folder", &project.beside("home"));
    link("settings", Path::new(".claude"));
    link("loop", Path::new("loop"));
    is_guarded(&project, &project.path("notes.md"));
    is_guarded(&project, &project.path("folder/.ssh/authorized_keys"));
    is_guarded(&project, &project.path("settings/settings.json"));
    is_guarded(&project, &project.path("loop"));
    std::os::unix::fs::symlink("a.txt", project.path("plain")).unwrap();
    is_free(&project, &project.path("plain"));
}

#[test]
fn home_is_expanded_as_agents_do() {
    let project = Project::new();
    is_guarded(&project, Path::new("~/.bashrc"));
}

#[test]
fn what_the_policy_hides_is_not_read_by_a_tool_of_the_agent() {
    let project = Project::new();
    std::fs::create_dir(project.path("vault")).unwrap();
    let path = policy(&project, "[box]\nhide = [\"vault\", \"a/b/secret*\"]");
    let pre = ["pre", "--policy", &path, "--mode", "bypass"];
    for (tool, input) in [
        ("Read", json!({"file_path": project.path("vault/key")})),
        ("Read", json!({"file_path": project.path("Vault/key")})),
        ("Read", json!({"file_path": project.path("a/b/secret1")})),
        ("Grep", json!({"pattern": "x", "path": project.path("vault")})),
        (
            "Edit",
            json!({"file_path": project.path("vault/key"), "old_string": "", "new_string": ""}),
        ),
        ("read_many_files", json!({"paths": ["a.txt", "vault/key"]})),
        ("mcp__files__read", json!({"path": "vault/key"})),
    ] {
        assert_eq!(
            decision(&project, &pre, &event(&project, tool, &input)),
            "deny",
            "{tool} {input}"
        );
    }
    silent(&sent(
        &project,
        &pre,
        &event(&project, "Read", &json!({"file_path": project.path("a")})),
    ));
}

/// A search of the home folder reads what is in it.
#[test]
fn a_search_outside_of_the_project_is_judged_by_all_that_it_reads() {
    let project = Project::new();
    let path = policy(&project, "[rules]\ndeny = [\"Read(~/.ssh/**)\"]");
    let pre = ["pre", "--policy", &path];
    let grep = |folder: &Path| event(&project, "Grep", &json!({"pattern": "KEY", "path": folder}));
    for folder in [project.beside("home"), project.beside("home/.ssh"), project.beside("")] {
        assert_eq!(decision(&project, &pre, &grep(&folder)), "deny", "{}", folder.display());
    }
    silent(&sent(&project, &pre, &grep(&project.path(""))));
    silent(&sent(&project, &pre, &grep(&project.beside("home/work"))));
}

/// The program that answers is not in the project, and whoever replaces it decides about all later calls.
#[test]
fn the_running_program_is_guarded_wherever_it_is() {
    let project = Project::new();
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    std::os::unix::fs::symlink(program, project.path("link")).unwrap();
    std::os::unix::fs::symlink(program.parent().unwrap(), project.path("folder")).unwrap();
    let up = "../".repeat(project.path("").components().count());
    let relative = format!("{up}{}", program.strip_prefix("/").unwrap().display());
    let mut paths = vec![
        program.to_owned(),
        project.path("link"),
        project.path("folder").join(program.file_name().unwrap()),
        relative.into(),
    ];
    // A hard link to the program, where one file system holds both.
    if std::fs::hard_link(program, project.beside("twin")).is_ok() {
        paths.push(project.beside("twin"));
    }
    for path in &paths {
        is_guarded(&project, path);
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", path.display());
        let mut call = event(&project, "apply_patch", &json!({"command": patch}));
        call["permission_mode"] = json!("bypassPermissions");
        assert_eq!(decision(&project, &["pre", "--format", "codex"], &call), "deny");
        for line in ["cp a.txt", "mv a.txt", "rm -f", "echo x >", "tee", "sed -i s/a/b/"] {
            let line = format!("{line} {}", path.display());
            let mut call = event(&project, "Bash", &json!({"command": line}));
            call["permission_mode"] = json!("bypassPermissions");
            let pre = ["pre", "--no-box", "--mode", "bypass"];
            let said = output(&sent(&project, &pre, &call));
            assert_eq!(said["permissionDecision"], "deny", "{line}: {said}");
        }
    }
    let mut call = event(&project, "Bash", &json!({"command": "cp a.txt b.txt"}));
    call["permission_mode"] = json!("bypassPermissions");
    let pre = ["pre", "--no-box", "--mode", "bypass"];
    assert_eq!(decision(&project, &pre, &call), "allow");
}

/// A name that says nothing of reading, an address, or a field for what is written makes a write.
#[test]
fn what_a_tool_loads_is_not_put_into_a_guarded_file() {
    let project = Project::new();
    let url = "https://a.example/x";
    let calls = |path: &str| {
        vec![
            ("mcp__x__fetch", json!({"url": url, "path": path})),
            ("mcp__x__download", json!({"url": url, "output": path})),
            ("mcp__x__get", json!({"url": url, "path": path})),
            ("mcp__x__get_page", json!({"page": 1, "save_as": path})),
            ("mcp__x__query", json!({"q": "x", "output_file": path})),
            ("mcp__x__export_list", json!({"path": path})),
            ("mcp__x__screenshot", json!({"filename": path})),
        ]
    };
    for path in [".claude/settings.json", "~/.bashrc", ".git/hooks/pre-commit"] {
        for (tool, input) in calls(path) {
            let mut call = event(&project, tool, &input);
            call["permission_mode"] = json!("bypassPermissions");
            let told = sent(&project, &["pre"], &call);
            assert!(told.stdout.contains("deny"), "{tool} {input}: {told:?}");
        }
    }
    for (tool, input) in calls("page.html") {
        silent(&sent(&project, &["pre"], &event(&project, tool, &input)));
    }
    for (tool, input) in [
        ("mcp__x__fetch", json!({"url": url})),
        ("mcp__fs__read_file", json!({"path": ".claude/settings.json"})),
        ("read_file", json!({"target_file": ".claude/settings.json"})),
    ] {
        silent(&sent(&project, &["pre"], &event(&project, tool, &input)));
    }
}

/// Each path costs a look at the file system, and an agent goes on where a hook takes too long.
#[test]
fn a_call_that_names_very_many_paths_is_refused_at_once() {
    let project = Project::new();
    let names: Vec<String> = (0..90_000).map(|at| format!("f{at}")).collect();
    let files = names.join("\n+x\n*** Add File: ");
    let patch = format!("*** Begin Patch\n*** Add File: {files}\n+x\n*** End Patch");
    for (tool, input) in [
        ("mcp__fs__write_files", json!({"paths": names})),
        ("mcp__fs__read_multiple_files", json!({"paths": names})),
        ("mcp__x__tool", json!({"urls": names})),
        ("apply_patch", json!({"command": patch})),
    ] {
        let told = sent(&project, &["pre", "--format", "codex"], &event(&project, tool, &input));
        let said = output(&told);
        assert_eq!(said["permissionDecision"], "deny", "{tool}: {said}");
        let reason = said["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("more than 1000 paths"), "{tool}: {reason}");
    }
    let few = json!({"paths": names.get(..500).unwrap()});
    silent(&sent(&project, &["pre"], &event(&project, "mcp__fs__read_multiple_files", &few)));
}
