//! What git follows outside its usual places: submodules, worktrees, and what is not kept of it.

use std::fs;
use std::process::Command;

use crate::jail::{jailed, project};
use crate::support::{Project, has, kept, text};

/// Runs git and other programs in a folder beside the project, without a box.
fn set_up(project: &Project, script: &str) {
    let status = Command::new("sh")
        .args(["-ec", script])
        .current_dir(project.beside("."))
        .env("HOME", project.beside("tmp"))
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")])
        .status();
    assert!(status.unwrap().success());
}

const OTHER: &str = "git init -q other; git -C other commit -q --allow-empty -m one\n";

#[test]
fn the_repository_of_a_worktree_is_protected_where_it_is_granted() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    fs::remove_dir_all(project.root()).unwrap();
    set_up(&project, &format!("{OTHER} git -C other worktree add -q ../work"));
    let git = project.beside("other/.git");
    let policy = jailed(|policy| policy.files.write = vec![".".into(), git.clone()]);
    let attack = "echo evil >> $1/config && echo configured
        echo evil > $1/hooks/pre-commit && echo hooked; mv $1/hooks $1/h && echo moved
        echo evil >> $1/worktrees/work/commondir && echo led; echo evil > .git && echo led
        git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && echo committed\n";
    let report = project.sh(policy, &attack.replace("$1", git.to_str().unwrap()), &[]);
    assert_eq!(text(&report, "stdout"), "committed\n", "{report}");
    assert_eq!(kept(&report, "protected"), "detected");
}

#[test]
fn the_hooks_of_a_submodule_are_watched_for_where_it_has_none() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    let add = "cd work; git init -q .
        git -c protocol.file.allow=always submodule --quiet add ../other sub
        rm -rf .git/modules/sub/hooks\n";
    set_up(&project, &format!("{OTHER} {add}"));
    let attack = "mkdir .git/modules/sub/hooks; echo evil > .git/modules/sub/hooks/post-checkout\n";
    let report = project.sh(jailed(|_| {}), attack, &[]);
    assert!(!project.path(".git/modules/sub/hooks").exists(), "{report}");
    let note = report["notes"][0].as_str().unwrap();
    let (_, place) = note.split_once(" is now in \"").unwrap();
    let place = std::path::Path::new(place.trim_end_matches('"'));
    fs::remove_dir_all(place.parent().unwrap()).unwrap();
}

/// A known gap: the index has to be written by who commits, and may name any folder.
#[test]
fn a_repository_that_the_box_makes_and_names_in_the_index_is_not_kept_from_git_outside() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    set_up(&project, "cd work; git init -q .; git commit -q --allow-empty -m one");
    let said = project.beside("said");
    let attack = "mkdir x; cd x; git init -q .
        git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
        git config core.fsmonitor \"touch $1; false\"; head=$(git rev-parse HEAD); cd ..
        git update-index --add --cacheinfo 160000,$head,x && echo named\n";
    let report = project.sh(jailed(|_| {}), &attack.replace("$1", said.to_str().unwrap()), &[]);
    assert_eq!((text(&report, "stdout"), said.exists()), ("named\n", false), "{report}");
    set_up(&project, "cd work; git -c diff.ignoreSubmodules=all status > /dev/null");
    assert!(!said.exists(), "what the threat model advises");
    set_up(&project, "cd work; git status > /dev/null");
    assert!(said.exists(), "if this is kept now, say so in the threat model");
}
