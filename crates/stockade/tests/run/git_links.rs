//! A `.git` that is a symbolic link, and other links on the way to protected paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::jail::{jailed, project};
use crate::support::{Project, has, text};

/// A project whose `.git` is a link to a folder of that name.
fn linked(to: &str) -> Option<Project> {
    let project = project().filter(|_| has("git"))?;
    let git = |args: &[&str]| {
        let made = Command::new("git").args(args).current_dir(project.root()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    };
    git(&["init", "-q", "."]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@b"]);
    fs::rename(project.path(".git"), project.path(to)).unwrap();
    symlink(to, project.path(".git")).unwrap();
    Some(project)
}

fn run(project: &Project, script: &str) -> Value {
    project.sh(jailed(|_| {}), &format!("{script}\n"), &[])
}

#[test]
fn a_git_folder_behind_a_link_works_and_is_protected() {
    let Some(project) = linked("gd") else { return };
    let script = "echo 1 > a && git add a && git commit -qm one && git log --format=%s";
    assert_eq!(text(&run(&project, script), "stdout"), "one\n");
    let script = "echo x > .git/hooks/pre-commit; echo x > gd/hooks/pre-commit; echo x >> gd/config
        rm .git; mv .git g2; ln -sfn other .git; mv gd g3; mv gd/hooks gd/h2; mkdir gd/commondir
        git config alias.x '!id'; echo end";
    let report = run(&project, script);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert_eq!(fs::read_link(project.path(".git")).unwrap().to_str(), Some("gd"), "{report}");
    assert!(!project.path("gd/hooks/pre-commit").exists(), "{report}");
    assert!(!fs::read_to_string(project.path("gd/config")).unwrap().contains('x'), "{report}");
    for name in ["gd/commondir", "g2", "g3", "gd/h2"] {
        assert!(!project.path(name).exists(), "{name}: {report}");
    }
}

#[test]
fn a_git_folder_elsewhere_needs_no_protection_in_the_project() {
    let Some(project) = linked("../elsewhere") else { return };
    let report = run(&project, "echo ok; rm .git; ln -sfn x .git");
    assert_eq!(text(&report, "stdout"), "ok\n", "{report}");
    assert!(fs::read_link(project.path(".git")).unwrap().ends_with("elsewhere"), "{report}");
}

/// Each of these is laid by a sandboxed program.
#[test]
fn no_link_that_a_call_lays_stops_the_next_call() {
    for script in [
        "ln -s .git .git",
        "ln -s nowhere .git",
        "mkdir g && git init -q g && ln -s g/.git .git",
        "mkdir docs docs/workflows && ln -s docs .github",
        "ln -s .github .github",
        "ln -s /nowhere/x .github",
        "ln -s a b; ln -s b a; ln -s a/x .git",
    ] {
        let Some(project) = project().filter(|_| has("git")) else { return };
        run(&project, script);
        let report = run(&project, "echo next; touch file && ls file");
        assert_eq!(text(&report, "stdout"), "next\nfile\n", "{script}: {report}");
    }
    // What the link led to when the call began is protected.
    let Some(project) = project().filter(|_| has("git")) else { return };
    run(&project, "mkdir g && git init -q g && ln -s g/.git .git");
    let report = run(&project, "echo x > g/.git/hooks/post-commit; rm .git; echo x >> .git/config");
    assert!(!project.path("g/.git/hooks/post-commit").exists(), "{report}");
    assert!(project.path(".git").is_symlink(), "{report}");
}
