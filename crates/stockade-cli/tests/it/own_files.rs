//! What decides about later calls is not written by one: policy, journal, trust, and the settings of
//! agents, there or not. Each is tried without the box first, where it has to succeed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Project, Told};

/// Files beneath a project that holds also the home, the state and the configuration of the person.
const FILES: [&str; 16] = [
    "stockade.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".mcp.json",
    "home/.claude/settings.json",
    "home/.claude/hooks/x.sh",
    "home/.claude.json",
    "home/.codex/hooks.json",
    "home/.codex/rules/x.rules",
    "elsewhere/hooks.json",
    "config/stockade/stockade.toml",
    "state/stockade/journal.jsonl",
    "state/stockade/trust.json",
    "dotfiles/claude/settings.json",
];

fn place(project: &Project, name: &str) -> PathBuf {
    project.beside(name)
}

fn project() -> Project {
    let project = Project::new();
    for folder in ["elsewhere", "dotfiles/claude"] {
        std::fs::create_dir_all(place(&project, folder)).unwrap();
    }
    project
}

/// A line without a box.
fn bare(line: &str) {
    assert!(Command::new("bash").args(["-c", line]).output().unwrap().status.success(), "{line}");
}

/// A line as a hook would have it run.
fn run(project: &Project, line: &str) -> Told {
    run_with_state(project, &project.beside("state"), line)
}

/// The same with a folder for state that is spelled like this.
fn run_with_state(project: &Project, state: &Path, line: &str) -> Told {
    let root = project.beside("");
    let journal = project.journal();
    // The root holds the home folder on purpose.
    let policy = project.beside("tmp/policy.toml");
    std::fs::write(&policy, "[project]\nhome = true\n").unwrap();
    let args = [
        "shell",
        "--policy",
        policy.to_str().unwrap(),
        "--root",
        root.to_str().unwrap(),
        "--mode=bypass",
        "--answered=yes",
        "--journal",
        journal.to_str().unwrap(),
        "--",
        line,
    ];
    let mut command = project.command(&args);
    command.env("XDG_STATE_HOME", state);
    command.env("CODEX_HOME", place(project, "elsewhere"));
    command.env("CLAUDE_CONFIG_DIR", place(project, "dotfiles/claude"));
    Told::from(command.output().unwrap())
}

fn write_line(project: &Project, name: &str) -> String {
    let path = place(project, name);
    let (folder, path) = (path.parent().unwrap().display(), path.display());
    format!("mkdir -p '{folder}'; echo changed >> '{path}'")
}

#[test]
fn files_that_are_there_stay_as_they_are() {
    for name in FILES {
        let fresh = || {
            let project = project();
            let path = place(&project, name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // A journal has to be one, and a policy has to load; settings are read by nobody here.
            if !name.ends_with("journal.jsonl") {
                std::fs::write(&path, "").unwrap();
            }
            (project, path)
        };
        let (without, path) = fresh();
        bare(&write_line(&without, name));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("changed"), "the control failed: {name}");
        let (with, path) = fresh();
        run(&with, &write_line(&with, name));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("changed\n") || text.contains("\"seq\""), "{name}: {text}");
        assert!(!text.lines().any(|line| line == "changed"), "{name}: {text}");
    }
}

#[test]
fn files_that_are_not_there_are_not_made() {
    for name in FILES.iter().filter(|name| !name.ends_with("journal.jsonl")) {
        let without = project();
        bare(&write_line(&without, name));
        assert!(place(&without, name).exists(), "the control failed: {name}");
        let with = project();
        let told = run(&with, &write_line(&with, name));
        assert!(!place(&with, name).exists(), "{name}: {told:?}");
    }
}

/// However its folder is spelled: by its text this one is not in the project.
#[test]
fn the_store_of_what_is_trusted_is_not_made_behind_dots() {
    const NAME: &str = "state/stockade/trust.json";
    let without = project();
    bare(&write_line(&without, NAME));
    assert!(place(&without, NAME).exists(), "the control failed");
    let with = project();
    let state = PathBuf::from(format!("/usr/..{}", with.beside("state").display()));
    let told = run_with_state(&with, &state, &write_line(&with, NAME));
    assert!(!place(&with, NAME).exists(), "{told:?}");
}

/// One that seems to be in the project by its text, and is not, is nothing to prevent there.
#[test]
fn a_home_behind_dots_is_no_reason_to_refuse_a_box() {
    let project = Project::new();
    project.write("stockade.toml", "[box]\nrequire = [\"protected\"]\n");
    let mut command = project.command(&["run", "--policy", "stockade.toml", "--", "true"]);
    command.env("HOME", project.path("../home")).env("XDG_STATE_HOME", project.path("../state"));
    let told = Told::from(command.output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
}

#[test]
fn their_folders_are_not_moved_aside() {
    for (folder, name) in [
        ("home/.claude", "settings.json"),
        ("config/stockade", "stockade.toml"),
        (".claude", "settings.json"),
    ] {
        let made = || {
            let project = project();
            std::fs::create_dir_all(place(&project, folder)).unwrap();
            std::fs::write(place(&project, folder).join(name), "").unwrap();
            project
        };
        let path = |project: &Project| place(project, folder);
        let line = |project: &Project| {
            format!("mv '{0}' '{0}.away'; rm -rf '{0}'", path(project).display())
        };
        let without = made();
        bare(&line(&without));
        assert!(!path(&without).exists(), "the control failed: {folder}");
        let with = made();
        run(&with, &line(&with));
        assert!(path(&with).join(name).exists(), "{folder}");
    }
}

#[test]
fn the_program_that_the_hook_runs_is_not_replaced_by_what_it_runs() {
    let project = Project::new();
    let program = project.path("stockade");
    crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), &program);
    let size = std::fs::metadata(&program).unwrap().len();
    let line = "cp /bin/true new && mv -f new stockade";
    let mut command = Command::new(&program);
    command.args(["shell", "--mode=bypass", "--answered=yes", "--", line]);
    let usual = project.command(&[]);
    command.current_dir(project.path("")).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = Told::from(command.output().unwrap());
    assert_eq!(std::fs::metadata(&program).unwrap().len(), size, "{told:?}");
    bare(&format!("cd '{}' && {line}", project.path("").display()));
    assert_ne!(std::fs::metadata(&program).unwrap().len(), size, "the control failed");
}
