//! Reading and changing Stockade's own places, which the project holds: scratch folders with what runs from
//! them, sockets, state, images, caches and policy. Each attack is tried without the sandbox first, where it
//! has to succeed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::places::{READ_ONLY, attack, hidden, plant, project, stockade};
use crate::poorer::{Caller, Poorer, can_box, lowered};

#[test]
fn what_is_stockades_own_is_neither_seen_nor_changed_in_the_jail() {
    for name in hidden() {
        let bare = project();
        plant(&bare, &name);
        let mut control = Command::new("/bin/sh");
        control.args(["-c", &attack(&name)]).current_dir(bare.beside("work"));
        let output = control.output().unwrap();
        assert_eq!(output.stdout, b"secret", "the control");
        assert_eq!(fs::read_to_string(bare.path(&name)).unwrap(), "forged\n", "the control");

        let project = project();
        plant(&project, &name);
        let told = stockade(&project, &["shell", "--mode=bypass", &attack(&name)]);
        assert!(!told.stdout.contains("secret"), "{name}: {told:?}");
        assert_eq!(
            fs::read_to_string(project.path(&name)).ok().as_deref(),
            Some("secret"),
            "{told:?}"
        );
        // The same for code, whose interpreter may wait for it.
        let code = format!("print(open({:?}).read())", project.path(&name));
        let told = stockade(&project, &["code", "python", "-e", &code]);
        assert!(!told.stdout.contains("secret"), "{name}: {told:?}");
    }
}

#[test]
fn the_policy_can_be_read_and_not_written() {
    let project = project();
    plant(&project, READ_ONLY);
    fs::write(project.path(READ_ONLY), "# mine\n").unwrap();
    let mine = format!("cat {READ_ONLY}");
    let told = stockade(&project, &["shell", "--mode=bypass", &mine]);
    assert!(told.stdout.contains("# mine"), "the control: {told:?}");
    // A script, whose text the gate does not read.
    fs::write(project.path("attack.sh"), attack(READ_ONLY)).unwrap();
    let told = stockade(&project, &["shell", "--mode=bypass", "sh attack.sh; echo ran"]);
    assert!(told.stdout.contains("ran"), "the control: {told:?}");
    assert_eq!(fs::read_to_string(project.path(READ_ONLY)).unwrap(), "# mine\n");
}

#[test]
fn file_tools_read_and_list_none_of_it() {
    for name in hidden() {
        let project = project();
        plant(&project, &name);
        plant(&project, "run/other/file");
        let path = project.path(&name);
        let calls = [
            serde_json::json!({"tool": "Read", "input": {"file_path": path}}),
            serde_json::json!({"tool": "Write", "input": {"file_path": path, "content": "forged"}}),
            serde_json::json!({"tool": "Glob", "input": {"pattern": "**/*"}}),
            serde_json::json!({"tool": "Grep", "input": {"pattern": "secret", "path": "."}}),
            serde_json::json!({"tool": "Read", "input": {"file_path": project.path("run/other/file")}}),
        ];
        let lines: Vec<String> = calls.iter().map(ToString::to_string).collect();
        fs::write(project.beside("calls"), lines.join("\n")).unwrap();
        let file = project.beside("calls");
        let told = stockade(&project, &["call", "--mode=bypass", file.to_str().unwrap()]);
        let reports = told.lines();
        let place = Path::new(&name).file_name().unwrap().to_str().unwrap();
        assert_eq!(
            (&reports[0]["denied"], &reports[1]["denied"]),
            (&true.into(), &true.into()),
            "{name}: {told:?}"
        );
        for report in &reports[2..4] {
            assert!(!report["stdout"].to_string().contains(place), "{name}: {report}");
            assert!(
                report["stdout"].to_string().contains("run/other/file"),
                "the control: {report}"
            );
        }
        assert!(reports[4]["stdout"].to_string().contains("secret"), "the control: {}", reports[4]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "secret");
    }
}

#[test]
fn where_a_place_cannot_be_kept_nothing_runs() {
    // A link that the sandbox could replace.
    let project = project();
    fs::create_dir(project.path("elsewhere")).unwrap();
    fs::remove_dir(project.path("config")).unwrap();
    std::os::unix::fs::symlink("elsewhere", project.path("config")).unwrap();
    let told = stockade(&project, &["shell", "echo ran"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
    assert!(told.stderr.contains("goes through the link"), "{told:?}");
    assert!(told.stderr.contains("remedy"), "{told:?}");
    // A project within a place of ours.
    let project = self::project();
    let inside = project.path("state/stockade/project");
    fs::create_dir_all(&inside).unwrap();
    let root = inside.to_str().unwrap();
    let told = stockade(&project, &["shell", "--root", root, "echo ran"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
    assert!(told.stderr.contains("one of Stockade's own folders"), "{told:?}");
}

/// Landlock hides nothing in a folder that it allows.
#[test]
fn without_namespaces_a_project_that_holds_such_a_place_is_refused() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    // The root of this test holds its home folder.
    let text = fs::read_to_string(lowered()).unwrap() + "\n[project]\nhome = true\n";
    let policy = poorer.project.beside("lowered.toml");
    fs::write(&policy, text).unwrap();
    let policy = policy.to_str().unwrap().to_owned();
    let run = |options: &[&str]| {
        let words = ["run", "--json", "--policy", &policy];
        let words = [&words, options, &["--", "echo", "ran"]].concat();
        poorer.told("EPERM", "namespaces", &words).json()
    };
    let report = run(&[]);
    assert_eq!(report["stdout"], "ran\n", "the control: {report}");
    let root = poorer.project.beside("");
    let report = run(&["--root", root.to_str().unwrap()]);
    assert_eq!(report["ok"], false, "{report}");
    assert!(report["failure"].to_string().contains("Stockade's own"), "{report}");
    assert!(report["failure"]["remedy"].is_string(), "{report}");
}
