//! Rules in the box: what they deny by name no program of a run gets, whatever the gate saw.

use std::fs;
use std::path::Path;

use stockade::Policy;
use stockade::policy::Rules;

use crate::jail::{jailed, project};
use crate::support::{Project, text};

fn denying(project: &Project, rules: &str) -> Policy {
    let file = project.beside("own.toml");
    let loaded = Policy::from_text(&file, &format!("rules.deny = [{rules}]")).unwrap();
    let own = loaded.rules.all().iter().filter(|rule| rule.name().is_none());
    jailed(|policy| policy.rules = Rules::compile(own.cloned().collect()))
}

#[test]
fn a_denied_path_is_hidden_or_protected_from_any_program() {
    let Some(project) = project() else { return };
    fs::write(project.path(".env"), "secret\n").unwrap();
    fs::create_dir_all(project.path("gen/out")).unwrap();
    // The script's name says nothing of what it does, so the gate sees nothing.
    let script = "cat .env\necho x > gen/out/made && echo wrote\necho end\n";
    let report = project.sh(jailed(|_| {}), script, &[]);
    assert_eq!(text(&report, "stdout"), "secret\nwrote\nend\n", "without rules: {report}");
    fs::remove_file(project.path("gen/out/made")).unwrap();
    let policy = denying(&project, "'Read(.env)', 'Edit(gen/out/**)'");
    let report = project.sh(policy, script, &[]);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert!(!project.path("gen/out/made").exists());
    assert_eq!(fs::read_to_string(project.path(".env")).unwrap(), "secret\n");
}

#[test]
fn a_path_that_the_box_does_not_show_needs_no_hiding() {
    let Some(project) = project() else { return };
    let outside = project.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), "secret\n").unwrap();
    let rules = format!("'Read(/{})', 'Edit(//nowhere/x)'", outside.display());
    let script = format!("cat {}/key\necho end\n", outside.display());
    let report = project.sh(denying(&project, &rules), &script, &[]);
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("end\n", &true.into()), "{report}");
}

#[test]
fn a_path_named_through_a_link_is_hidden_where_it_is() {
    let Some(project) = project() else { return };
    fs::write(project.path(".env"), "secret\n").unwrap();
    let link = project.beside("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();
    let named = link.join(".env");
    let hidden = |policy: &mut Policy| policy.files.hide = vec![named.clone()];
    let report = project.sh(jailed(hidden), "cat .env\necho end\n", &[]);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert!(Path::new(&named).exists());
}
