//! Rules with patterns in the box: what `Read` and `Edit` deny at any depth is kept from a program
//! whose words say nothing of it. Each attack has a half without the rule, which succeeds.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Instant;

use serde_json::Value;
use stockade::Policy;
use stockade::guarantee::{Guarantee, Kept};
use stockade::policy::{Require, Rules};

use crate::jail::{jailed, project};
use crate::support::{Project, exec, is_root, json, kept, skip, tell, text};

/// Opens every path it is given, and says what came of it.
const READER: &str = "import sys
for path in sys.argv[1:]:
    try:
        print(path, open(path).read().strip() or 'empty')
    except OSError as error:
        print(path, type(error).__name__)
";

/// Writes to every path it is given, and says what came of it.
const WRITER: &str = "import sys, os
for path in sys.argv[1:]:
    try:
        os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
        open(path, 'a').write('changed')
        print(path, 'written')
    except OSError as error:
        print(path, type(error).__name__)
";

fn denying(project: &Project, rules: &str) -> Policy {
    let file = project.beside("own.toml");
    let loaded = Policy::from_text(&file, &format!("rules.deny = [{rules}]")).unwrap();
    let own = loaded.rules.all().iter().filter(|rule| rule.name().is_none());
    jailed(|policy| policy.rules = Rules::compile(own.cloned().collect()))
}

/// Runs code that reads the names from a file: no word of the call names a path.
fn run(project: &Project, policy: Policy, code: &str, paths: &[&str]) -> Value {
    project.script("names.txt", &paths.join("\n"));
    let code = code.replace("sys.argv[1:]", "open('names.txt').read().split('\\n')");
    project.python(policy, &code, &[])
}

/// What a reader printed with the rules, after it has read everything without them.
fn attack(project: &Project, rules: &str, paths: &[&str]) -> Value {
    let report = run(project, jailed(|_| {}), READER, paths);
    for path in paths {
        assert!(text(&report, "stdout").contains(&format!("{path} secret")), "control: {report}");
    }
    run(project, denying(project, rules), READER, paths)
}

fn note<'a>(report: &'a Value, guarantee: &str) -> &'a str {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == guarantee).unwrap();
    line["note"].as_str().unwrap_or_default()
}

fn secret(project: &Project, name: &str) {
    let path = project.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "secret\n").unwrap();
}

#[test]
fn a_name_is_hidden_at_any_depth_in_ignored_folders_too() {
    let Some(project) = project() else { return };
    let paths = [".env", "a/.env", "node_modules/x/y/.env", ".git/z/.env", "b/.ENV"];
    for path in paths {
        secret(&project, path);
    }
    secret(&project, "a/env");
    fs::write(project.path(".gitignore"), "node_modules\n").unwrap();
    let report = attack(&project, "'Read(.env)'", &paths);
    let expected = paths.map(|path| path.to_owned() + " PermissionError\n").concat();
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    assert_eq!(kept(&report, "reads"), "full", "{report}");
    assert!(
        note(&report, "reads").contains(message!("unenforced.made-during-run-not")),
        "{report}"
    );
    let report = run(&project, denying(&project, "'Read(.env)'"), READER, &["a/env"]);
    assert_eq!(text(&report, "stdout"), "a/env secret\n", "the nearest name is read: {report}");
}

#[test]
fn wildcards_hide_files_and_folders() {
    let Some(project) = project() else { return };
    let paths = ["x.pem", "keys/deep/y.pem", "infra/prod/main.tf", "conf/a/secrets/k"];
    for path in paths {
        secret(&project, path);
    }
    secret(&project, "infra/dev/main.tf");
    let rules = "'Read(*.pem)', 'Read(infra/pro?/*.tf)', 'Read(conf/**/secrets/**)'";
    let report = attack(&project, rules, &paths);
    let expected = "x.pem PermissionError\nkeys/deep/y.pem PermissionError\n\
                    infra/prod/main.tf PermissionError\nconf/a/secrets/k PermissionError\n";
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    let report = run(&project, denying(&project, rules), READER, &["infra/dev/main.tf"]);
    assert_eq!(text(&report, "stdout"), "infra/dev/main.tf secret\n", "{report}");
}

#[test]
fn patterns_of_every_anchor_reach_what_is_shown() {
    let Some(project) = project() else { return };
    let outside = project.beside("data");
    fs::create_dir_all(outside.join("in")).unwrap();
    fs::write(outside.join("in/a.key"), "secret\n").unwrap();
    secret(&project, "sub/b.key");
    let (path, root) = (outside.join("in/a.key"), project.root());
    let paths = [path.to_str().unwrap(), "sub/b.key"];
    let granting = |policy: Policy| {
        let mut policy = policy;
        policy.files.read = vec![outside.clone()];
        policy
    };
    let control = run(&project, granting(jailed(|_| {})), READER, &paths);
    assert_eq!(text(&control, "stdout").matches("secret").count(), 2, "{control}");
    let by_root = format!("'Read(/{}/*/*.key)'", project.beside("*").display());
    let by_source = "'Read(/../data/in/*.k*)', 'Read(/s*/**)'";
    for rules in [by_root.as_str(), "'Read(../**/*.key)'", by_source] {
        let policy = jailed(|policy| {
            let text = format!("rules.deny = [{rules}]");
            policy.rules = Policy::from_text(&root.join("own.toml"), &text).unwrap().rules;
        });
        let report = run(&project, granting(policy), READER, &paths);
        assert_eq!(text(&report, "stdout").matches("secret").count(), 0, "{rules}: {report}");
    }
}

#[test]
fn every_name_of_a_denied_file_is_hidden() {
    let Some(project) = project() else { return };
    secret(&project, "a/.env");
    fs::create_dir(project.path("b")).unwrap();
    fs::hard_link(project.path("a/.env"), project.path("b/innocent")).unwrap();
    secret(&project, "store/real");
    fs::create_dir(project.path("c")).unwrap();
    symlink("../store/real", project.path("c/.env")).unwrap();
    secret(&project, "plain");
    symlink("a", project.path("way")).unwrap();
    let paths = ["a/.env", "b/innocent", "c/.env", "store/real", "way/.env"];
    let report = attack(&project, "'Read(.env)'", &paths);
    let expected = paths.map(|path| path.to_owned() + " PermissionError\n").concat();
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    assert_eq!(kept(&report, "reads"), "full", "{report}");
    let report = run(&project, denying(&project, "'Read(.env)'"), READER, &["plain"]);
    assert_eq!(text(&report, "stdout"), "plain secret\n", "{report}");
}

#[test]
fn a_link_that_a_call_laid_hides_neither_the_project_nor_the_system() {
    let Some(project) = project() else { return };
    secret(&project, "plain");
    fs::create_dir(project.path("d")).unwrap();
    for (target, link) in [(".", ".env"), ("/usr", "d/.env")] {
        symlink(target, project.path(link)).unwrap();
    }
    let report = run(&project, denying(&project, "'Read(.env)'"), READER, &["plain"]);
    assert_eq!(text(&report, "stdout"), "plain secret\n", "{report}");
}

#[test]
fn what_edit_denies_by_a_pattern_is_not_written_and_a_new_file_is_renamed_aside() {
    let Some(project) = project() else { return };
    secret(&project, "sub/Cargo.lock");
    let paths = ["sub/Cargo.lock", "new/deep/made.lock", "sub/other"];
    let report = run(&project, jailed(|_| {}), WRITER, &paths);
    assert_eq!(text(&report, "stdout").matches("written").count(), 3, "control: {report}");
    fs::remove_dir_all(project.path("new")).unwrap();
    fs::write(project.path("sub/Cargo.lock"), "secret\n").unwrap();
    let report = run(&project, denying(&project, "'Edit(*.lock)'"), WRITER, &paths);
    let printed = "sub/Cargo.lock OSError\nnew/deep/made.lock written\nsub/other written\n";
    assert_eq!(text(&report, "stdout"), printed, "{report}");
    assert_eq!(fs::read_to_string(project.path("sub/Cargo.lock")).unwrap(), "secret\n");
    assert!(!project.path("new/deep/made.lock").exists(), "{report}");
    let said = report["notes"][0].as_str().unwrap_or_default();
    assert!(said.contains("made.lock") && said.contains("made.lock.stockade-held-"), "{report}");
    assert_eq!(kept(&report, "protected"), "detected", "{report}");
}

#[test]
fn a_rule_against_every_write_makes_the_project_read_only() {
    let Some(project) = project() else { return };
    let control = run(&project, jailed(|_| {}), WRITER, &["a"]);
    assert_eq!(text(&control, "stdout"), "a written\n");
    let report = run(&project, denying(&project, "'Edit(./**)'"), WRITER, &["a", "b/c"]);
    assert_eq!(text(&report, "stdout"), "a OSError\nb/c OSError\n", "{report}");
}

#[test]
fn what_appears_between_two_calls_is_hidden_in_the_second() {
    let Some(project) = project() else { return };
    let stockade = project.open(denying(&project, "'Read(.env)'"));
    project.script("script.py", &READER.replace("sys.argv[1:]", "['late/.env']"));
    let call = || json(&stockade.run(exec(&["python3", "script.py"])));
    assert_eq!(text(&call(), "stdout"), "late/.env FileNotFoundError\n");
    secret(&project, "late/.env");
    let report = call();
    assert_eq!(text(&report, "stdout"), "late/.env PermissionError\n", "{report}");
}

#[test]
fn what_cannot_be_found_or_kept_stops_the_call_unless_less_is_required() {
    let Some(project) = project() else { return };
    if is_root() {
        skip("not-root", "nothing is closed to root");
    } else {
        fs::create_dir(project.path("closed")).unwrap();
        fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o0)).unwrap();
        let report = run(&project, denying(&project, "'Read(.env)'"), READER, &[".env"]);
        fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            text(&report["failure"], "message").contains(message!("walk.could-not-look-into")),
            "{report}"
        );
    }
    for number in 0..1100 {
        fs::write(project.path(&format!("{number}.pem")), "secret\n").unwrap();
    }
    let paths = ["0.pem", "1099.pem"];
    let report = run(&project, denying(&project, "'Read(*.pem)'"), READER, &paths);
    let message = text(&report["failure"], "message");
    assert!(
        message.contains("more than 1000 paths") && message.contains("Read(*.pem)"),
        "{report}"
    );
    assert_eq!(report["failure"]["guarantee"], "reads");
    let mut policy = denying(&project, "'Read(*.pem)'");
    policy.require = Require::only([(Guarantee::Reads, Kept::Partial)]);
    let report = run(&project, policy, READER, &[".env"]);
    assert_eq!(kept(&report, "reads"), "partial", "{report}");
    assert!(note(&report, "reads").contains("more than 1000 paths"), "{report}");
}

#[test]
fn a_rule_that_means_the_whole_project_is_not_kept_in_silence() {
    let Some(project) = project() else { return };
    let stockade = project.open(denying(&project, "'Read(./**)'"));
    let report = json(&stockade.run(exec(&["true"])));
    let message = text(&report["failure"], "message");
    assert!(
        message.contains(message!("Read(./**): {}" => "literal.means-project-whole")),
        "{report}"
    );
}

#[test]
fn ten_thousand_files_cost_little_and_nothing_without_such_a_rule() {
    let Some(project) = project() else { return };
    for folder in 0..100 {
        let folder = project.path(&format!("d{folder}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..100 {
            fs::write(folder.join(format!("f{file}.txt")), "").unwrap();
        }
    }
    let median = |policy: Policy| {
        let stockade = project.open(policy);
        let mut times: Vec<_> = (0..9)
            .map(|_| {
                let started = Instant::now();
                let report = stockade.run(exec(&["true"]));
                assert!(report.ok(), "{}", json(&report));
                started.elapsed()
            })
            .collect();
        times.sort();
        times[4]
    };
    let without = median(jailed(|_| {}));
    let literal = median(denying(&project, "'Read(conf/key)', 'Edit(gen/out/**)'"));
    let read = median(denying(&project, "'Read(.env)', 'Read(*.pem)'"));
    let edit = median(denying(&project, "'Edit(*.lock)'"));
    tell(&format!(
        "10,000 files: no rule {without:?}, named paths {literal:?}, Read patterns {read:?}, \
         Edit patterns {edit:?}"
    ));
    assert!(read.as_secs_f64() < 1.0 && edit.as_secs_f64() < 1.0);
}
