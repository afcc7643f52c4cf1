//! Shipped rules and folders of packages: what a package ships is readable and can be deleted, and no
//! program uncovers a secret by such a folder. Failures on hidden and protected paths are explained.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use stockade::Policy;
use stockade::confine::Origin;
use stockade::policy::Rules;

use crate::jail::{jailed, project};
use crate::support::{Project, exec, has, json, kept, text};

/// The policy with a rule about `.env` anywhere, of this origin.
fn policy(project: &Project, origin: Origin) -> Policy {
    let text = "rules.deny = ['Read(//**/.env)', 'Read(//**/.env.production)']";
    let loaded = Policy::from_text(&project.beside("own.toml"), text).unwrap().rules;
    let own = loaded.all().iter().filter(|rule| rule.name().is_none());
    let rules = own.cloned().map(|rule| rule.with_origin(origin)).collect();
    jailed(|policy| policy.rules = Rules::compile(rules))
}

fn file(project: &Project, name: &str) {
    let path = project.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "secret\n").unwrap();
}

/// The notes of a report, one in a line.
fn notes(report: &Value) -> String {
    let notes = report["notes"].as_array().into_iter().flatten();
    notes.map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn a_shipped_rule_skips_packages_and_a_rule_of_the_user_does_not() {
    let Some(project) = project() else { return };
    let packages = ["node_modules/a/.env", "api/.venv/lib/x/.env", "vendor/b/c/.env"];
    for name in packages {
        file(&project, name);
    }
    file(&project, "api/.env");
    let script = format!("cat {} api/.env\n", packages.join(" "));
    let own = project.sh(policy(&project, Origin::Trusted), &script, &[]);
    assert_eq!(text(&own, "stdout"), "", "{own}");
    let report = project.sh(policy(&project, Origin::Shipped), &script, &[]);
    assert_eq!(text(&report, "stdout"), "secret\nsecret\nsecret\n", "{report}");
    assert_eq!(kept(&report, "reads"), "full", "{report}");
    let script = "rm -rf node_modules && mkdir node_modules && mv vendor moved && echo done\n";
    let report = project.sh(policy(&project, Origin::Shipped), script, &[]);
    assert_eq!(text(&report, "stdout"), "done\n", "{report}");
    // Elsewhere the name is that of a secret again.
    let report = project.sh(policy(&project, Origin::Shipped), "cat moved/b/c/.env\n", &[]);
    assert_eq!(text(&report, "stdout"), "", "{report}");
}

/// Each half of an attack: what the program tries, and the name by which it reads in the next call.
#[test]
fn no_program_uncovers_a_secret_by_a_folder_of_packages() {
    let Some(project) = project() else { return };
    for name in [".env", "sub/.env", "a/deep/.env"] {
        file(&project, name);
    }
    let script = "mkdir -p node_modules vendor
        mv sub node_modules/sub; mv a vendor; mv -T sub site-packages; mv .env node_modules/
        mv a/deep a/node_modules; ln .env node_modules/hard; ln sub/.env vendor/hard
        ln -s .. node_modules/up; ln -s ../sub vendor/sub; ln -s ../.env vendor/.env
        ln -s sub .venv; cp -al sub node_modules/copy\n";
    project.sh(policy(&project, Origin::Shipped), script, &[]);
    let script = "cat .env */.env */*/.env */*/*/.env .venv/.env */hard */*/hard\n";
    let control = project.sh(jailed(|_| {}), script, &[]);
    assert!(text(&control, "stdout").matches("secret").count() > 5, "control: {control}");
    let report = project.sh(policy(&project, Origin::Shipped), script, &[]);
    assert_eq!(text(&report, "stdout"), "", "{report}");
    assert_eq!(kept(&report, "reads"), "full", "{report}");
    assert!(project.path("sub/.env").exists() && project.path("a/deep/.env").exists());
}

/// A hard link that is there already is another name of the secret.
#[test]
fn a_hard_link_in_a_folder_of_packages_is_hidden_with_its_file() {
    let Some(project) = project() else { return };
    file(&project, ".env");
    fs::create_dir_all(project.path("node_modules/a")).unwrap();
    fs::hard_link(project.path(".env"), project.path("node_modules/a/.env")).unwrap();
    symlink("../../.env", project.path("node_modules/a/link")).unwrap();
    let script = "cat node_modules/a/.env node_modules/a/link\n";
    let report = project.sh(policy(&project, Origin::Shipped), script, &[]);
    assert_eq!(text(&report, "stdout"), "", "{report}");
}

#[test]
fn a_failure_on_a_hidden_file_says_why_and_what_helps() {
    let Some(project) = project() else { return };
    file(&project, "dist/x/.env.production");
    file(&project, "other/.env");
    for (script, names) in [
        ("rm -rf dist", "dist/x/.env.production"),
        ("mv dist out", "dist/x/.env.production"),
        ("git init -q . && git clean -xfdq dist", "dist/x/.env.production"),
        ("cd dist && rm -r x", "dist/x/.env.production"),
    ] {
        let report = project.sh(policy(&project, Origin::Shipped), &format!("{script}\n"), &[]);
        let said = notes(&report);
        assert!(said.contains(names) && said.contains("hides"), "{script}: {report}");
        assert!(said.contains("outside") && !said.contains("other/.env"), "{script}: {report}");
        let denied = report["denials"][0]["path"].as_str().unwrap_or_default();
        assert!(denied.ends_with(names), "{script}: {report}");
    }
    let report = project.sh(policy(&project, Origin::Shipped), "ls nothing\n", &[]);
    assert_eq!(notes(&report), "", "{report}");
}

#[test]
fn git_is_explained_where_it_failed_on_what_is_protected_and_nowhere_else() {
    let Some(project) = project().filter(|_| has("git")) else { return };
    assert_eq!(project.run(&["git", "init", "-q", "."])["ok"], true);
    file(&project, ".env");
    let run =
        |argv: &[&str]| json(&project.open(policy(&project, Origin::Shipped)).run(exec(argv)));
    let report = run(&["git", "log", "nosuch"]);
    assert_eq!((notes(&report), &report["exit_code"]), (String::new(), &128.into()), "{report}");
    let report = run(&["git", "remote", "add", "o2", "x"]);
    let said = notes(&report);
    assert!(said.contains(".git/config") && said.contains("protect"), "{report}");
    assert!(!said.contains(".env"), "{report}");
    assert!(report["denials"][0]["path"].as_str().unwrap_or_default().ends_with(".git/config"));
}
