//! Protected and hidden paths that are not there cannot be made, where the policy asks for no less.

use std::fs;

use serde_json::Value;
use stockade::Policy;
use stockade::guarantee::{Guarantee, Kept};
use stockade::tier::Tier;

use crate::support::{Project, exec, has, json, kept, policy, skip, text};

/// The shipped policy in the jail, with protected paths kept fully.
fn strict(change: impl FnOnce(&mut Policy)) -> Policy {
    policy(|policy| {
        policy.tier = Tier::Jail;
        policy.require.insert(Guarantee::Protected, Kept::Full);
        change(policy);
    })
}

/// A project for boxes, if this machine can make one.
fn project() -> Option<Project> {
    let project = Project::new();
    let loose = policy(|policy| policy.tier = Tier::Jail);
    let report = project.run_with(loose, exec(&["true"]));
    if report["failure"]["message"].as_str().is_some_and(|why| why.contains("namespace")) {
        skip("userns", "user namespaces are forbidden here");
        return None;
    }
    assert_eq!(report["ok"], true, "{report}");
    Some(project)
}

/// Who kept the protected paths.
fn keepers(report: &Value) -> Vec<&str> {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == "protected").unwrap();
    line["by"].as_array().unwrap().iter().map(|by| by.as_str().unwrap()).collect()
}

#[test]
fn a_protected_path_that_is_not_there_cannot_be_made_and_the_program_goes_on() {
    let Some(project) = project() else { return };
    let script = "echo x > .envrc; mkdir .claude; ln -s /etc .bashrc; mv file .mcp.json
        mkdir -p .git && echo y > .git/config; mkdir .git/objects && echo ok > .git/objects/fine
        echo on > made && cat made .git/objects/fine; ls -A . .git\n";
    fs::write(project.path("file"), "").unwrap();
    let report = project.sh(strict(|_| {}), script, &[]);
    let expected = "on\nok\n.:\n.git\nfile\nmade\nscript.sh\n\n.git:\nobjects\n";
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    assert_eq!(kept(&report, "protected"), "full", "{report}");
    assert!(keepers(&report).contains(&"broker"), "{report}");
    assert_eq!(report["ok"], true, "{report}");
    // Without the broker the same is refused to an honest program, and promised less.
    let loose = policy(|policy| policy.tier = Tier::Jail);
    let report = project.sh(loose, "echo x > .envrc; echo on\n", &[]);
    assert_eq!((kept(&report, "protected"), text(&report, "stdout")), ("detected", "on\n"));
}

#[test]
fn a_hidden_path_that_is_not_there_cannot_be_made_either() {
    let Some(project) = project() else { return };
    let policy = strict(|policy| policy.files.hide = vec!["secrets/.env".into()]);
    let script =
        "mkdir secrets && echo x > secrets/y && ls secrets; echo x > secrets/.env || echo no\n";
    let report = project.sh(policy, script, &[]);
    assert_eq!(text(&report, "stdout"), "y\nno\n", "{report}");
    assert!(!project.path("secrets/.env").exists());
}

#[test]
fn git_commits_and_its_missing_hooks_cannot_be_made() {
    let Some(project) = project() else { return };
    if !has("git") {
        return;
    }
    let set_up =
        "git init -q . && git config user.email a@b && git config user.name c && rm -r .git/hooks";
    let control = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", script]).current_dir(project.root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    control(set_up);
    let script = "echo x > file && git add file && git commit -qm one && git log --format=%s
        git checkout -qb two && git stash list && git gc -q; git status --porcelain -uno
        mkdir .git/hooks && echo hooked; echo ../x > .git/commondir && echo led; git config a.b c && echo set
        true\n";
    let report = project.sh(strict(|_| {}), script, &[]);
    assert_eq!(text(&report, "stdout"), "one\n", "{report}");
    assert_eq!(kept(&report, "protected"), "full", "{report}");
    assert_eq!(
        control("git status --porcelain -uno; ls .git/hooks .git/commondir 2>/dev/null"),
        ""
    );
}

#[test]
fn missing_hooks_of_submodules_and_worktrees_cannot_be_made_either() {
    let Some(project) = project() else { return };
    for folder in [".git/modules/a/b", ".git/worktrees/w"] {
        fs::create_dir_all(project.path(folder)).unwrap();
    }
    fs::write(project.path(".git/modules/a/b/config"), "").unwrap();
    let script = "mkdir .git/modules/a/b/hooks || echo no; echo > .git/worktrees/w/config.worktree || echo no
        mkdir -p .git/modules/c && echo > .git/modules/c/config && echo new\n";
    let report = project.sh(strict(|_| {}), script, &[]);
    assert_eq!(text(&report, "stdout"), "no\nno\nnew\n", "{report}");
}

#[test]
fn boxes_that_were_made_in_advance_keep_it_too() {
    let Some(project) = project() else { return };
    project.script(
        "script.sh",
        "echo x > .envrc || echo no; mkdir -p .git; echo x > .git/config || echo no\n",
    );
    let stockade = project.open(strict(|_| {}));
    for round in 0..5 {
        let report = json(&stockade.run(exec(&["sh", "script.sh"])));
        assert_eq!(text(&report, "stdout"), "no\nno\n", "{round}: {report}");
        assert_eq!(kept(&report, "protected"), "full", "{round}: {report}");
        std::thread::sleep(std::time::Duration::from_millis(60));
        // The host may make folders on the way while a box waits.
        if round == 1 {
            fs::create_dir_all(project.path(".git/info")).unwrap();
        }
    }
    assert!(!project.path(".git/config").exists() && !project.path(".envrc").exists());
}

#[test]
fn a_link_on_the_way_is_a_failure_and_nothing_runs() {
    let Some(project) = project() else { return };
    std::os::unix::fs::symlink("elsewhere", project.path(".git")).unwrap();
    project.script("script.sh", "touch ran\n");
    let report = project.run_with(strict(|_| {}), exec(&["sh", "script.sh"]));
    assert_eq!(report["failure"]["guarantee"], "protected", "{report}");
    assert!(text(&report["failure"], "message").contains(message!("bounded.link")), "{report}");
    assert!(!project.path("ran").exists());
}

#[test]
fn a_protected_path_that_somebody_else_makes_stays_and_is_told() {
    let Some(project) = project() else { return };
    let made = project.path(".envrc");
    let host = std::thread::spawn({
        let go = project.path("go");
        move || {
            while !go.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            fs::write(made, "host").unwrap();
        }
    });
    let script = "touch go; while ! test -s .envrc; do sleep 0.05; done; sleep 0.5; echo end\n";
    let report = project.sh(strict(|_| {}), script, &[]);
    host.join().unwrap();
    assert_eq!(kept(&report, "protected"), "detected", "{report}");
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert_eq!(fs::read_to_string(project.path(".envrc")).unwrap(), "host");
}
