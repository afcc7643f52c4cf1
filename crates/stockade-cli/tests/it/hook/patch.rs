//! Codex's `apply_patch`, as a tool and in a shell line: its files are judged one by one.

use serde_json::{Value, json};

use super::{bash, event, output, policy, sent, silent};
use crate::support::{Project, Told};

const PRE: [&str; 5] = ["pre", "--format", "codex", "--mode", "auto"];

fn patch(inside: &str) -> String {
    format!("*** Begin Patch\n{inside}\n*** End Patch\n")
}

/// Every way in which Codex takes a patch.
fn calls(project: &Project, patch: &str) -> Vec<Value> {
    vec![
        event(project, "apply_patch", &json!({"command": patch})),
        event(project, "apply_patch", &json!({"input": patch})),
        event(project, "apply_patch", &json!({"command": ["apply_patch", patch]})),
        bash(project, &format!("apply_patch <<'EOF'\n{patch}EOF")),
        bash(project, &format!("applypatch <<\"EOF\"\n{patch}EOF\n")),
        bash(project, &format!("cd . && apply_patch <<'EOF'\n{patch}EOF")),
        bash(project, &format!("apply_patch '{patch}'")),
        bash(project, &format!("bash -lc \"apply_patch '{patch}'\"")),
    ]
}

#[track_caller]
fn refused(told: &Told, what: &str) {
    let said = output(told);
    assert_eq!(said["permissionDecision"], "deny", "{what}: {said}");
    assert_eq!(said.get("updatedInput"), None, "{what}: {said}");
}

#[test]
fn a_patch_of_files_of_the_project_is_left_to_the_agent() {
    let project = Project::new();
    project.write("a.txt", "x\n");
    for inside in [
        "*** Add File: new/b.txt\n+x",
        "*** Update File: a.txt\n@@\n-x\n+y",
        "*** Update File: a.txt\n*** Move to: c.txt\n@@\n-x\n+y\n*** End of File",
        "*** Delete File: a.txt",
    ] {
        for call in calls(&project, &patch(inside)) {
            silent(&sent(&project, &PRE, &call));
        }
    }
}

#[test]
fn a_patch_of_anything_guarded_or_outside_is_refused() {
    let project = Project::new();
    std::os::unix::fs::symlink(project.beside("home"), project.path("link")).unwrap();
    let outside = project.beside("elsewhere.txt");
    for inside in [
        "*** Add File: .claude/settings.json\n+{}".to_owned(),
        "*** Add File: ok.txt\n+x\n*** Add File: .git/hooks/pre-commit\n+x".to_owned(),
        "*** Update File: ok.txt\n*** Move to: .envrc\n@@\n-x\n+y".to_owned(),
        "*** Update File: .mcp.json\n*** Move to: ok.txt\n@@\n-x\n+y".to_owned(),
        "*** Delete File: stockade.toml".to_owned(),
        "*** Delete File: .codex/hooks.json".to_owned(),
        "*** Add File: ../elsewhere.txt\n+x".to_owned(),
        format!("*** Add File: {}\n+x", outside.display()),
        "*** Add File: link/notes.txt\n+x".to_owned(),
        "*** Update File: sub/../../elsewhere.txt\n@@\n-x\n+y".to_owned(),
    ] {
        for call in calls(&project, &patch(&inside)) {
            for mode in ["default", "bypassPermissions"] {
                let mut call = call.clone();
                call["permission_mode"] = json!(mode);
                refused(&sent(&project, &PRE, &call), &call.to_string());
            }
        }
    }
}

#[test]
fn a_patch_that_is_not_understood_to_its_end_is_refused() {
    let project = Project::new();
    for text in [
        "",
        "*** Begin Patch\n*** Add File: a\n+x\n",
        "*** Begin Patch\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: a\n+x\nwhat\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Add File: b\n+x\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    ] {
        for call in calls(&project, text) {
            refused(&sent(&project, &PRE, &call), &call.to_string());
        }
    }
    for input in [json!({}), json!({"command": 7}), json!({"command": "x", "input": "y"})] {
        refused(&sent(&project, &PRE, &event(&project, "apply_patch", &input)), "no text");
    }
}

#[test]
fn a_line_that_applies_a_patch_and_does_more_is_refused() {
    let project = Project::new();
    let patch = patch("*** Add File: a.txt\n+x");
    for line in [
        format!("apply_patch <<'EOF'\n{patch}EOF\ntouch b"),
        format!("touch b && apply_patch <<'EOF'\n{patch}EOF"),
        "apply_patch < patch.txt".to_owned(),
        "cat patch.txt | apply_patch".to_owned(),
        "apply_patch \"$(cat patch.txt)\"".to_owned(),
        "apply_patch <<EOF\n*** Begin Patch\n*** Add File: $HOME/x\n+x\n*** End Patch\nEOF"
            .to_owned(),
    ] {
        refused(&sent(&project, &PRE, &bash(&project, &line)), &line);
    }
}

#[test]
fn the_folder_that_a_line_enters_is_where_a_patch_applies() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("sub")).unwrap();
    let line = |path: &str| {
        format!("cd sub && apply_patch <<'EOF'\n{}EOF", patch(&format!("*** Add File: {path}\n+x")))
    };
    silent(&sent(&project, &PRE, &bash(&project, &line("../a.txt"))));
    refused(
        &sent(&project, &PRE, &bash(&project, &line("../../a.txt"))),
        message!("path.nothing-above-root"),
    );
    refused(&sent(&project, &PRE, &bash(&project, &line("../.mcp.json"))), "protected");
}

#[test]
fn rules_about_writing_are_rules_about_patches() {
    let project = Project::new();
    for rule in ["Edit(src/**)", "Edit", "Write", "apply_patch", "Read(src/**)"] {
        let path = policy(&project, &format!("[rules]\ndeny = [\"{rule}\"]"));
        let pre = ["pre", "--format", "codex", "--policy", &path];
        let call =
            event(&project, "apply_patch", &json!({"command": patch("*** Delete File: src/a.rs")}));
        refused(&sent(&project, &pre, &call), rule);
    }
}
