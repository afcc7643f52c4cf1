//! The folder for working trees in a protected `.claude`: writable if it exists, and nothing else is.

use std::fs;
use std::os::unix::fs::symlink;

use stockade::Policy;
use stockade::policy::Rules;

use crate::jail::{jailed, project};
use crate::support::{Project, exec, json, text};

const ATTEMPTS: &str = "import os
def attempt(name, act):
    try:
        act(); print(name, 'done')
    except OSError as error:
        print(name, error.strerror)
attempt('write', lambda: open('.claude/worktrees/x/file', 'w'))
attempt('create', lambda: os.mkdir('.claude/worktrees/new'))
attempt('remove', lambda: os.rmdir('.claude/worktrees/new'))
attempt('read a secret', lambda: open('.claude/worktrees/x/.env'))
attempt('move a secret', lambda: os.rename('.claude/worktrees/x', '.claude/worktrees/y'))
attempt('write beside', lambda: open('.claude/settings.json', 'w'))
attempt('create beside', lambda: open('.claude/settings.local.json', 'w'))
attempt('move', lambda: os.rename('.claude/worktrees', '.claude/moved'))
attempt('move all', lambda: os.rename('.claude', 'moved'))
";
const ALLOWED: &str = "write done\ncreate done\nremove done\n";
const REFUSED: &str = "read a secret Permission denied\nmove a secret Device or resource busy\n\
    write beside Read-only file system\ncreate beside Read-only file system\n\
    move Read-only file system\nmove all Device or resource busy\n";

fn with_worktrees() -> Option<Project> {
    let project = project()?;
    fs::create_dir_all(project.path(".claude/worktrees/x")).unwrap();
    fs::write(project.path(".claude/worktrees/x/.env"), "secret").unwrap();
    fs::write(project.path(".claude/settings.json"), "{}").unwrap();
    Some(project)
}

/// The shipped rules hide `.env`.
fn shipped() -> Policy {
    jailed(|policy| policy.rules = Policy::shipped().rules)
}

#[test]
fn working_trees_are_written_and_the_rest_of_the_folder_is_not() {
    let Some(project) = with_worktrees() else { return };
    let report = project.python(shipped(), ATTEMPTS, &[]);
    assert_eq!(text(&report, "stdout"), format!("{ALLOWED}{REFUSED}"), "{report}");
    // A sandbox that was copied from a template, and one that was made before the folder.
    let stockade = project.open(shipped());
    fs::rename(project.path(".claude/worktrees"), project.beside("trees")).unwrap();
    for number in 0..8 {
        if number == 4 {
            fs::rename(project.beside("trees"), project.path(".claude/worktrees")).unwrap();
        }
        let report = json(&stockade.run(exec(&["python3", "script.py"])));
        let is_written = text(&report, "stdout").starts_with(ALLOWED);
        assert_eq!(is_written, number >= 4, "{number}: {report}");
        assert!(!text(&report, "stdout").contains("beside done"), "{number}: {report}");
    }
    // Control: without a sandbox all of it is done.
    let mut control = std::process::Command::new("python3");
    let output = control.arg("script.py").current_dir(project.root()).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.matches("done").count(), 9, "{output}");
}

#[test]
fn a_link_is_not_followed_and_what_else_protects_the_folder_still_does() {
    let Some(project) = with_worktrees() else { return };
    let write = "echo x > .claude/worktrees/x/file && echo written; true\n";
    let attempt = |policy: Policy, expected: &str, why: &str| {
        let report = project.sh(policy, write, &[]);
        assert_eq!(text(&report, "stdout"), expected, "{why}: {report}");
    };
    attempt(jailed(|_| {}), "written\n", "the control");
    let listed = |policy: &mut Policy| policy.files.protect.push(".claude/worktrees".into());
    attempt(jailed(listed), "", "the list names it");
    for rule in ["Edit(.claude)", "Edit(.claude/**)", "Edit(.claude/worktrees/**)"] {
        let text = format!("rules.deny = [{rule:?}]");
        let loaded = Policy::from_text(&project.beside("own.toml"), &text).unwrap();
        let own = loaded.rules.all().iter().filter(|rule| rule.name().is_none()).cloned();
        let rules = Rules::compile(own.collect());
        attempt(jailed(|policy| policy.rules = rules), "", rule);
    }
    attempt(jailed(|policy| policy.files.hide.push(".claude".into())), "", "it is hidden");
    attempt(jailed(|policy| policy.files.read.push(".claude".into())), "", "it is to be read");
    attempt(jailed(|policy| policy.files.write.clear()), "", "nothing can be written");
    // A link to a folder of the project that is protected, and to one outside.
    fs::rename(project.path(".claude/worktrees"), project.beside("trees")).unwrap();
    fs::remove_file(project.beside("trees/x/file")).unwrap();
    fs::create_dir_all(project.path(".vscode/x")).unwrap();
    for target in [project.path(".vscode"), project.beside("trees")] {
        symlink(&target, project.path(".claude/worktrees")).unwrap();
        attempt(jailed(|_| {}), "", "a link");
        assert!(!target.join("x/file").exists());
        fs::remove_file(project.path(".claude/worktrees")).unwrap();
    }
}

#[test]
fn a_protected_path_in_a_working_tree_cannot_be_created() {
    let Some(project) = with_worktrees() else { return };
    let name = ".claude/worktrees/x/deploy";
    let policy = jailed(|policy| policy.files.protect.push(name.into()));
    let script = format!("echo x > {name}; echo x > {name}2; echo end\n");
    let report = project.sh(policy, &script, &[]);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert!(!project.path(name).exists() && project.path(&format!("{name}2")).exists(), "{report}");
}
