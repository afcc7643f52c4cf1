//! `stockade trust`: shown before it is recorded, refused without a person, gone with a change.

use std::os::unix::fs::PermissionsExt as _;

use crate::ask::OnTerminal;
use crate::support::Project;

const LOOSE: &str = "[box]\nenv = [\"TOKEN\"]\n[rules]\nallow = [\"Bash(make *)\"]\n";

#[test]
fn a_file_is_shown_and_then_trusted_as_it_is() {
    let project = Project::new();
    project.write("stockade.toml", LOOSE);
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 125, "it loosens");
    let told = project.stockade(&["trust"]);
    assert_eq!(told.code, 125, "{told:?}");
    assert!(told.stdout.contains("sets box.env (line 2)") && told.stderr.contains("no terminal"));
    assert!(!project.beside("state/stockade/trust.json").exists());
    let told = project.stockade(&["trust", "--yes"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("allows Bash(make *)") && told.stdout.contains("trusted "));
    let store = project.beside("state/stockade/trust.json");
    assert_eq!(store.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    let told = project.stockade(&["trust", "--list"]);
    assert!(
        told.stdout.contains("work/stockade.toml since 2") && told.stdout.contains("unchanged")
    );
    project.write("stockade.toml", &LOOSE.replace("make", "sudo"));
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 125, "it is another file now");
    assert!(
        project
            .stockade(&["trust", "--list"])
            .stdout
            .contains(message!("trust.changed-not-trusted-any"))
    );
    let told = project.stockade(&["trust"]);
    assert!(told.stdout.contains(message!("trust.changed-since-trusted")), "{told:?}");
    project.write("stockade.toml", LOOSE);
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    assert_eq!(project.stockade(&["trust", "--remove"]).code, 0);
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 125);
    assert_eq!(project.stockade(&["trust", "--remove"]).code, 1);
    assert_eq!(
        project.stockade(&["trust", "--list"]).stdout,
        message!("{}\n" => "trust.no-file-trusted")
    );
}

#[test]
fn a_file_that_only_tightens_needs_no_trust_and_a_broken_one_gets_none() {
    let project = Project::new();
    assert!(
        project
            .stockade(&["trust", "--yes"])
            .stdout
            .contains(message!("trust.no-file-project-trust"))
    );
    project.write("stockade.toml", "rules.deny = ['Bash(x)']\n");
    let told = project.stockade(&["trust", "--yes"]);
    assert_eq!((told.code, told.stdout.contains("loosens nothing")), (0, true), "{told:?}");
    project.write("stockade.toml", "rules.allow = ['Bash(']\n");
    assert_eq!(project.stockade(&["trust", "--yes"]).code, 125);
    assert_eq!(project.stockade(&["trust", "--yes", "none.toml"]).code, 125);
    assert_eq!(project.stockade(&["trust", "--yes", "none.txt"]).code, 125);
}

#[test]
fn a_trusted_file_stays_so_if_its_person_edits_it_with_rules_add() {
    let project = Project::new();
    project.write("stockade.toml", LOOSE);
    let told = project.stockade(&["rules", "add", "--allow", "Bash(x)"]);
    assert!(told.stderr.contains(message!("edit.nothing-until-trusted")), "{told:?}");
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 125);
    assert_eq!(project.stockade(&["trust", "--yes"]).code, 0);
    let told = project.stockade(&["rules", "add", "--allow", "Bash(y)"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
}

#[test]
fn a_program_in_the_box_cannot_trust_anything() {
    let project = Project::new();
    project.write("stockade.toml", "");
    let state = project.beside("state/stockade");
    std::fs::create_dir_all(&state).unwrap();
    let script = format!("mkdir -p {0}; echo x > {0}/trust.json; echo end\n", state.display());
    project.script("forge.sh", &script);
    let told = project.stockade(&["run", "--", "sh", "forge.sh"]);
    assert!(told.stdout.contains("end"), "{told:?}");
    assert!(!state.join("trust.json").exists());
    // Not even where the project holds all of it.
    let config = project.beside("config/stockade");
    std::fs::create_dir_all(&config).unwrap();
    let more = format!("{script}echo x > {}/stockade.toml; echo x > here\n", config.display());
    project.script("forge.sh", &more);
    let policy = project.beside("tmp/policy.toml");
    std::fs::write(&policy, "[project]\nhome = true\n").unwrap();
    let policy = policy.to_str().unwrap();
    let told =
        project.stockade(&["run", "--policy", policy, "--root", "..", "--", "sh", "work/forge.sh"]);
    assert!(told.stdout.contains("end") && project.beside("here").exists(), "{told:?}");
    assert!(!state.join("trust.json").exists() && !config.join("stockade.toml").exists());
}

#[test]
fn a_person_at_a_terminal_is_asked_and_only_yes_is_yes() {
    for (keys, expected) in [("\n", false), ("n\n", false), ("nyes\n", false), ("y\n", true)] {
        let project = Project::new();
        project.write("stockade.toml", LOOSE);
        let Some(mut terminal) = OnTerminal::start(&project, "stockade trust") else { return };
        terminal.until("[y/N]", 1);
        terminal.types(keys);
        let (shown, code) = terminal.end();
        assert!(shown.contains("sets box.env (line 2)") && code == 0, "{shown}");
        let trusted = project.beside("state/stockade/trust.json").exists();
        assert_eq!(trusted, expected, "{keys:?}: {shown}");
    }
}
