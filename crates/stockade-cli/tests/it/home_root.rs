//! A project root that is or holds the home folder is refused, however it is reached and spelled.

use std::path::Path;

use serde_json::json;

use crate::support::{Project, Told, call, skip};

fn config(project: &Project, text: &str) {
    std::fs::create_dir_all(project.beside("config/stockade")).unwrap();
    std::fs::write(project.beside("config/stockade/stockade.toml"), text).unwrap();
}

/// Every command that takes a root, with this one.
fn commands(project: &Project, root: &Path) -> Vec<(&'static str, Told)> {
    let text = root.to_str().unwrap();
    let event = json!({
        "cwd": root, "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let (event, call) = (event.to_string(), call(&["ls"]));
    let mut here = project.command(&["shell", "ls"]);
    here.current_dir(root);
    vec![
        ("run", project.stockade(&["run", "--root", text, "--", "ls"])),
        ("shell", project.stockade(&["shell", "--root", text, "ls"])),
        ("shell in it", Told::from(here.output().unwrap())),
        ("call", project.fed(&["call", "--root", text], call.as_bytes())),
        ("check", project.stockade(&["check", "shell", "--root", text, "ls"])),
        ("code", project.fed(&["code", "--root", text, "--lang", "python"], b"1")),
        ("hook", project.fed(&["hook", "pre"], event.as_bytes())),
        ("hook --root", project.fed(&["hook", "pre", "--root", text], event.as_bytes())),
    ]
}

#[track_caller]
fn refused(told: &Told, name: &str) {
    assert!([2, 125].contains(&told.code), "{name}: {told:?}");
    assert!(told.stderr.contains("home folder"), "{name}: {told:?}");
    assert!(told.stderr.contains("--root"), "no hint: {name}: {told:?}");
}

#[test]
fn a_root_that_is_or_holds_the_home_is_refused_with_a_hint() {
    let project = Project::new();
    std::os::unix::fs::symlink(project.beside("home"), project.beside("link")).unwrap();
    let home = project.beside("home");
    let roots = [
        home.clone(),
        project.beside(""),
        project.beside("link"),
        home.join("../home"),
        "/".into(),
    ];
    for root in roots {
        for (name, told) in commands(&project, &root) {
            refused(&told, &format!("{name} {}", root.display()));
        }
    }
    // What lies in the home folder is a project like any other.
    std::fs::create_dir(home.join("work")).unwrap();
    let told =
        project.stockade(&["run", "--root", home.join("work").to_str().unwrap(), "--", "ls"]);
    assert_eq!(told.code, 0, "{told:?}");
}

#[test]
fn the_home_of_the_list_of_users_counts_besides_the_variable() {
    let list = std::fs::read_to_string("/etc/passwd").unwrap();
    let user = rustix::process::getuid().as_raw().to_string();
    let line = list.lines().find(|line| line.split(':').nth(2) == Some(user.as_str()));
    let Some(home) = line.and_then(|line| line.split(':').nth(5)).filter(|home| home.len() > 1)
    else {
        return skip("passwd", "the user is in no list");
    };
    if !Path::new(home).is_dir() {
        return skip("passwd", "the user's home folder is not there");
    }
    let project = Project::new();
    refused(&project.stockade(&["run", "--root", home, "--", "ls"]), home);
}

#[test]
fn only_the_policy_of_the_user_allows_it() {
    let project = Project::new();
    let home = project.beside("home");
    let root = home.to_str().unwrap();
    config(&project, "[project]\nhome = true\n");
    let told = project.stockade(&["run", "--root", root, "--", "ls"]);
    assert_eq!(told.code, 0, "{told:?}");
    config(&project, "");
    refused(&project.stockade(&["run", "--root", root, "--", "ls"]), "an empty policy");
    // The project's own file does not, trusted or not, and cannot be trusted with it.
    std::fs::write(home.join("stockade.toml"), "\n[project]\nhome = true\n").unwrap();
    let told = project.stockade(&["run", "--root", root, "--", "ls"]);
    assert_eq!(told.code, 125, "{told:?}");
    assert!(told.stderr.contains("line 3") && told.stderr.contains("project.home"), "{told:?}");
    let told = project.stockade(&["trust", "--root", root, "--yes"]);
    assert_ne!(told.code, 0, "{told:?}");
    let named = project.beside("own.toml");
    std::fs::write(&named, "[project]\nhome = true\n").unwrap();
    let told =
        project.stockade(&["run", "--policy", named.to_str().unwrap(), "--root", root, "--", "ls"]);
    assert_eq!(told.code, 0, "{told:?}");
}

/// `/tmp/.git`, which anybody can make.
#[test]
fn a_hook_stays_in_its_folder_below_a_marker_of_another_user() {
    if rustix::process::geteuid().as_raw() != 0 {
        return skip("root", "only root can give a file away");
    }
    let project = Project::new();
    std::fs::create_dir(project.path("mine")).unwrap();
    project.write("stockade.toml", "[rules]\ndeny = [\"Bash(pwd)\"]\n");
    let event = json!({
        "cwd": project.path("mine"), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "pwd"},
    });
    let asked = || project.fed(&["hook", "pre"], event.to_string().as_bytes());
    let said = |told: &Told| told.json()["hookSpecificOutput"]["permissionDecision"].clone();
    assert_eq!(said(&asked()), "deny", "the control: the root is the folder above");
    std::os::unix::fs::chown(project.path("stockade.toml"), Some(12_345), None).unwrap();
    let told = asked();
    assert_eq!(said(&told), "allow", "{told:?}");
    assert!(told.stderr.contains(message!("project.belongs-user", "12345")), "{told:?}");
    assert!(told.stdout.contains(message!("project.belongs-user", "12345")), "{told:?}");
}
