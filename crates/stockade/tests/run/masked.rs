//! Hidden files: a program cannot open them, git leaves them as they are, and shipped rules that do not fit a
//! project do not stop it.

use std::fs;
use std::process::Command;

use serde_json::Value;
use stockade::Policy;
use stockade::confine::Origin;
use stockade::policy::rules::Rules;

use crate::jail::{jailed, project};
use crate::support::{Project, exec, has, json, kept, text};

const RULES: &str = "'Read(.env)', 'Read(secrets/**)'";

fn denying(project: &Project, rules: &str, origin: Origin) -> Policy {
    let text = format!("rules.deny = [{rules}]");
    let loaded = Policy::from_text(&project.beside("own.toml"), &text).unwrap().rules;
    let own = loaded.all().iter().filter(|rule| rule.name().is_none());
    let rules = own.cloned().map(|rule| rule.with_origin(origin)).collect();
    jailed(|policy| policy.rules = Rules::compile(rules))
}

fn note<'a>(report: &'a Value, guarantee: &str) -> &'a str {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == guarantee).unwrap();
    line["note"].as_str().unwrap_or_default()
}

/// A command of git in the project, without a sandbox.
fn git(project: &Project, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(args)
        .current_dir(project.root())
        .env("HOME", project.beside("tmp"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A project of git whose files are older than its index, as they are on any day but the first.
fn repository() -> Option<Project> {
    let project = project().filter(|_| has("git"))?;
    fs::create_dir(project.path("secrets")).unwrap();
    git(&project, &["init", "-q", "-b", "main", "."]);
    fs::write(project.path(".git/info/exclude"), "script.sh\n").unwrap();
    for (name, content) in [(".env", "S=1\n"), ("secrets/key", "K\n"), ("a.txt", "1\n")] {
        fs::write(project.path(name), content).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let file = fs::File::options().write(true).open(project.path(name)).unwrap();
        file.set_modified(old).unwrap();
    }
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "one"]);
    Some(project)
}

fn sandboxed(project: &Project, script: &str) -> Value {
    let name = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
                GIT_COMMITTER_EMAIL=a@b\n";
    project.sh(denying(project, RULES, Origin::Trusted), &format!("{name}{script}\n"), &[])
}

#[test]
fn a_hidden_file_is_never_empty() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path("secrets")).unwrap();
    fs::write(project.path(".env"), "S=1\n").unwrap();
    fs::write(project.path("secrets/key"), "K\n").unwrap();
    let script = "cat .env && echo opened; cp .env copy && echo copied; ls secrets && echo listed
        cat secrets/key && echo opened; stat -c %s .env\n";
    let report = project.sh(jailed(|_| {}), script, &[]);
    assert_eq!(text(&report, "stdout"), "S=1\nopened\ncopied\nkey\nlisted\nK\nopened\n4\n");
    fs::remove_file(project.path("copy")).unwrap();
    for origin in [Origin::Trusted, Origin::Shipped] {
        let report = project.sh(denying(&project, RULES, origin), script, &[]);
        assert_eq!(text(&report, "stdout"), "4\n", "{report}");
        assert_eq!(text(&report, "stderr").matches("Permission denied").count(), 4, "{report}");
        assert_eq!(kept(&report, "reads"), "full", "{report}");
        assert!(!project.path("copy").exists());
    }
}

#[test]
fn a_program_can_start_in_a_hidden_folder_and_finds_it_empty() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path("secrets")).unwrap();
    fs::write(project.path("secrets/key"), "K\n").unwrap();
    let mut policy = jailed(|_| {});
    policy.files.hide = vec!["secrets".into()];
    let call = exec(&["ls", "-A"]).in_folder("secrets");
    let report = json(&project.open(policy).run(call));
    assert_eq!((&report["ok"], text(&report, "stdout")), (&true.into(), ""), "{report}");
}

#[test]
fn git_leaves_hidden_files_that_it_tracks_as_they_were() {
    let Some(project) = repository() else { return };
    let report = sandboxed(
        &project,
        "git status --porcelain; git diff --stat; echo 2 > a.txt; git diff --name-only
         git commit -qam two && echo committed; echo 3 > a.txt; git add -A && echo added
         git commit -qm three && echo committed; git status --porcelain",
    );
    let printed = "a.txt\ncommitted\nadded\ncommitted\n";
    assert_eq!(text(&report, "stdout"), printed, "{report}");
    assert_eq!(git(&project, &["show", "--stat", "--format=%s", "HEAD~1"]).matches('|').count(), 1);
    assert_eq!(git(&project, &["show", "HEAD:.env", "HEAD:secrets/key"]), "S=1\nK\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(project.path(".env")).unwrap(), "S=1\n");
}

#[test]
fn git_fails_with_our_reason_where_a_hidden_file_has_changed() {
    let Some(project) = repository() else { return };
    fs::write(project.path(".env"), "S=changed\n").unwrap();
    let report = sandboxed(&project, "git status --porcelain; echo 2 > a.txt; git commit -qam two");
    assert_eq!(text(&report, "stdout"), " M .env\n", "{report}");
    assert_eq!(report["exit_code"], 128, "{report}");
    let said = report["notes"][0].as_str().unwrap_or_default();
    assert!(said.contains(".env\" (rule Read(.env))") && said.contains("git"), "{report}");
    assert_eq!(git(&project, &["log", "--format=%s"]), "one\n");
    let report = sandboxed(&project, "git commit -qm other a.txt && echo committed");
    assert_eq!(text(&report, "stdout"), "committed\n", "{report}");
    assert_eq!(git(&project, &["show", "HEAD:.env"]), "S=1\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), " M .env\n");
}

/// Git cannot replace a hidden file. It says so, and shows the file as modified afterwards: nothing is lost.
#[test]
fn git_changes_to_another_branch_and_leaves_the_hidden_file() {
    let Some(project) = repository() else { return };
    git(&project, &["branch", "same"]);
    git(&project, &["checkout", "-q", "-b", "other"]);
    fs::write(project.path(".env"), "S=other\n").unwrap();
    git(&project, &["commit", "-qam", "other"]);
    git(&project, &["checkout", "-q", "main"]);
    // Git must not have written the file in the second in which it wrote the index.
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(project.path(".env")).unwrap().set_modified(old).unwrap();
    git(&project, &["status"]);
    let report = sandboxed(
        &project,
        "git checkout -q same && git rev-parse --abbrev-ref HEAD; echo 2 > a.txt
         git stash -q -- a.txt && git stash pop -q && cat a.txt; git checkout -q a.txt
         git checkout -q other; git commit -qam lost && echo committed",
    );
    assert_eq!(text(&report, "stdout"), "same\n2\n", "{report}");
    assert!(text(&report, "stderr").contains("unable to unlink old '.env'"), "{report}");
    assert_eq!(fs::read_to_string(project.path(".env")).unwrap(), "S=1\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), " M .env\n");
    assert_eq!(git(&project, &["show", "other:.env"]), "S=other\n");
    git(&project, &["fsck"]);
}

/// Makes folders so deep that no path leads to the last one.
const DEEP: &str = "import os
for _ in range(3000):
    os.mkdir('deep')
    os.chdir('deep')
";

#[test]
fn a_very_deep_folder_stops_no_call_for_a_shipped_rule_and_is_reported() {
    let Some(project) = project().filter(|_| has("python3")) else { return };
    fs::write(project.path(".env"), "S=1\n").unwrap();
    let made = project.python(jailed(|_| {}), DEEP, &[]);
    assert_eq!(made["ok"], true, "{made}");
    let script = "cat .env; echo ran\n";
    let report = project.sh(denying(&project, "'Read(.env)'", Origin::Shipped), script, &[]);
    assert_eq!(text(&report, "stdout"), "ran\n", "{report}");
    assert_eq!(kept(&report, "reads"), "partial", "{report}");
    let said = note(&report, "reads");
    assert!(
        said.contains(message!("Read(.env): {}" => "walk.could-not-look-into"))
            && said.len() < 1000,
        "{said}"
    );
    let report = project.sh(denying(&project, "'Read(.env)'", Origin::Trusted), script, &[]);
    assert_eq!(report["failure"]["guarantee"], "reads", "{report}");
    // A rule that cannot mean anything down there is kept.
    let report =
        project.sh(denying(&project, "'Read(./conf/*.key)'", Origin::Trusted), script, &[]);
    assert_eq!(text(&report, "stdout"), "S=1\nran\n", "{report}");
    assert_eq!(kept(&report, "reads"), "full", "{report}");
    Command::new("rm").arg("-rf").arg(project.path("deep")).status().unwrap();
}

#[test]
fn more_paths_than_can_be_hidden_stop_no_call_for_a_shipped_rule() {
    let Some(project) = project() else { return };
    for number in 0..1100 {
        fs::write(project.path(&format!("{number}.pem")), "secret\n").unwrap();
    }
    fs::write(project.path("own.key"), "secret\n").unwrap();
    let shipped = denying(&project, "'Read(*.pem)'", Origin::Shipped);
    let own = denying(&project, "'Read(*.key)'", Origin::Trusted);
    let rules = shipped.rules.all().iter().chain(own.rules.all()).cloned().collect();
    let policy = jailed(|policy| policy.rules = Rules::compile(rules));
    let script = "cat *.pem *.key | sort | uniq -c | wc -l; cat own.key && echo read\n";
    let report = project.sh(policy, script, &[]);
    assert_eq!(text(&report, "stdout"), "1\n", "{report}");
    assert_eq!(kept(&report, "reads"), "partial", "{report}");
    assert!(note(&report, "reads").contains("more than 1000 paths"), "{report}");
}
