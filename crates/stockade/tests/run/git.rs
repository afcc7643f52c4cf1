//! What git follows outside its usual places: submodules, worktrees, and what is not kept of it.

use std::fs;
use std::process::Command;

use serde_json::Value;
use stockade::Policy;
use stockade::guarantee::{Guarantee, Kept};

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
fn a_worktree_that_a_call_added_is_removed_by_a_later_one() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    set_up(&project, "cd work; git init -q .; git commit -q --allow-empty -m one");
    let run = |script: &str| {
        let report = project.sh(jailed(|_| {}), &format!("{script}\n"), &[]);
        text(&report, "stdout").to_owned() + text(&report, "stderr")
    };
    for (add, remove) in [
        ("git worktree add -q w2 -b w2", "git worktree remove w2"),
        ("git worktree add -q sub/w3 -b w3", "rm -rf sub/w3 && git worktree prune"),
    ] {
        assert_eq!(run(&format!("{add} && echo added")), "added\n");
        let removed = run(&format!("{remove} && git worktree list && ls .git/worktrees"));
        assert!(!removed.contains("/w2 ") && !removed.contains("/w3 "), "{removed}");
        assert!(!removed.contains("busy"), "{removed}");
    }
    let claude = "mkdir -p .claude/worktrees";
    set_up(&project, &format!("cd work; {claude}; git worktree add -q .claude/worktrees/a -b a"));
    assert_eq!(run("git worktree remove .claude/worktrees/a && echo removed"), "removed\n");
}

/// The person works in it, and no program can make it seem to be a worktree in the project.
#[test]
fn a_worktree_outside_of_what_can_be_written_stays_protected() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    let add = "git worktree add -q ../outside -b o; mkdir -p .claude/kept
        git worktree add -q .claude/kept/w -b k; git worktree add -q closed -b c";
    set_up(&project, &format!("cd work; git init -q .; git commit -q --allow-empty -m one; {add}"));
    let attack = "for w in outside w closed; do d=.git/worktrees/$w
            echo evil >> $d/commondir && echo led; echo $PWD/x/.git > $d/gitdir && echo moved
            rm $d/gitdir && echo removed; mv $d x && echo renamed; echo > $d/config.worktree && echo made
        done; echo end\n";
    for _ in 0..2 {
        let policy = jailed(|policy| policy.files.protect.push("closed".into()));
        let report = project.sh(policy, attack, &[]);
        assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    }
}

#[test]
fn the_hooks_of_a_submodule_cannot_be_created_where_it_has_none() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    let add = "cd work; git init -q .
        git -c protocol.file.allow=always submodule --quiet add ../other sub
        rm -rf .git/modules/sub/hooks\n";
    set_up(&project, &format!("{OTHER} {add}"));
    let attack = "mkdir .git/modules/sub/hooks; echo evil > .git/modules/sub/hooks/post-checkout\n";
    let report = project.sh(jailed(|_| {}), attack, &[]);
    assert!(!project.path(".git/modules/sub/hooks").exists(), "{report}");
    let denied = report["denials"][0]["path"].as_str().unwrap();
    assert!(denied.ends_with(".git/modules/sub/hooks"), "{report}");
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

#[test]
fn a_day_with_git_works_though_its_folders_are_protected() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    set_up(&project, "cd work; git init -q .; git commit -q --allow-empty -m one; mkdir .vscode");
    let day = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        mkdir src; echo 1 > src/a; git add -A; git commit -qm two; echo 2 > src/a; git stash -q; git stash pop -q
        git commit -qam three; git checkout -qb topic HEAD~1; echo b > src/b; git add src; git commit -qm four
        git rebase -q - ; git tag t; git gc -q; git merge -q --no-edit t; git mv src/b src/c; git commit -qm five
        git reset -q --hard HEAD~1; git worktree list > /dev/null; git fsck > /dev/null; git log --format=%s | wc -l
        mkdir new; cd new; git init -q .; git commit -q --allow-empty -m one; echo done\n";
    let report = project.sh(jailed(|_| {}), day, &[]);
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("4\ndone\n", &true.into()), "{report}");
    let attack =
        "echo x > .git/info/attributes; echo x > .git/hooks/pre-commit; echo x > .vscode/tasks.json
        mkdir .husky; mkdir -p .github/workflows; echo x > .gitmodules; echo end\n";
    let report = project.sh(jailed(|_| {}), attack, &[]);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    for name in [
        ".git/info/attributes",
        ".git/hooks/pre-commit",
        ".vscode/tasks.json",
        ".husky",
        ".gitmodules",
    ] {
        assert!(!project.path(name).exists(), "{name}: {report}");
    }
}

#[test]
fn a_repository_can_be_created_where_there_is_none_and_is_protected_from_the_next_call_on() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    let create = "git init -q . && git config a.b c && echo x > .git/hooks/old && echo end\n";
    let report = project.sh(jailed(|_| {}), create, &[]);
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("end\n", &true.into()), "{report}");
    let protected = |report: &Value| {
        let lines = report["enforcement"].as_array().unwrap();
        let line = lines.iter().find(|line| line["guarantee"] == "protected").unwrap();
        (line["kept"].as_str().unwrap().to_owned(), line["note"].to_string())
    };
    let (kept, note) = protected(&report);
    assert_eq!(
        (kept.as_str(), note.contains(message!("unenforced.does-not-exist-creating"))),
        ("partial", true),
        "{note}"
    );
    let attack =
        "echo x > .git/hooks/new; echo x >> .git/hooks/old; git config a.b d; mkdir .git/info/x
        echo x > .git/commondir; mv .git moved; ls .git/*.lock; git config a.b\n";
    let report = project.sh(jailed(|_| {}), attack, &[]);
    assert_eq!(text(&report, "stdout"), "c\n", "{report}");
    assert_eq!(fs::read_to_string(project.path(".git/hooks/old")).unwrap(), "x\n");
    for name in [".git/hooks/new", ".git/commondir", ".git/info/x", "moved", ".git/config.lock"] {
        assert!(!project.path(name).exists(), "{name}: {report}");
    }
    let (kept, note) = protected(&report);
    assert_eq!((kept.as_str(), note.contains("until")), ("detected", false), "{note}");
    // A policy that asks for no less than prevention gets it, and no repository.
    fs::remove_dir_all(project.path(".git")).unwrap();
    let strict = |policy: &mut Policy| policy.require.insert(Guarantee::Protected, Kept::Full);
    let report = project.sh(jailed(strict), create, &[]);
    assert_eq!((text(&report, "stdout"), protected(&report).0.as_str()), ("", "full"), "{report}");
}
