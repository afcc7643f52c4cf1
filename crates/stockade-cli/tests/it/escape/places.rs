//! A project that holds the folders in which Stockade keeps its own files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Project, Told};

/// Files in places that no sandbox shows, beneath a project that holds all of them.
pub(super) fn hidden() -> [String; 6] {
    let own = rustix::process::geteuid().as_raw();
    [
        format!("run/stockade-{own}/kept-other/bundle/config.json"),
        "run/stockade/session.socket".to_owned(),
        "state/stockade/sessions/x.socket".to_owned(),
        "state/stockade/other.json".to_owned(),
        "data/stockade/images/x/root/bin/sh".to_owned(),
        "cache/stockade/gvisor".to_owned(),
    ]
}

/// The same that can be read, and not written.
pub(super) const READ_ONLY: &str = "config/stockade/stockade.toml";

/// A project with all folders of the person but the home folder in it.
pub(super) fn project() -> Project {
    let project = Project::new();
    for name in ["run", "state", "data", "cache", "config"] {
        fs::create_dir(project.path(name)).unwrap();
    }
    fs::set_permissions(project.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    project
}

pub(super) fn command(project: &Project, program: &Path, args: &[&str]) -> Command {
    let typed = project.command(args);
    let mut command = Command::new(program);
    command.args(args).current_dir(project.beside("work")).env_clear();
    command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for (variable, folder) in [
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("TMPDIR", "run"),
    ] {
        command.env(variable, project.path(folder));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(super) fn stockade(project: &Project, args: &[&str]) -> Told {
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    Told::from(command(project, program, args).output().unwrap())
}

pub(super) fn plant(project: &Project, name: &str) {
    fs::create_dir_all(project.path(name).parent().unwrap()).unwrap();
    let mut folder = project.path(name);
    while folder.pop() && folder != project.path("run") && folder.starts_with(project.path("")) {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(project.path(name), "secret").unwrap();
}

/// A line that reads a file, and then changes it in every way there is.
pub(super) fn attack(name: &str) -> String {
    let top = Path::new(name).iter().next().unwrap().to_str().unwrap().to_owned();
    let folder = Path::new(name).parent().unwrap().display();
    format!(
        "cat {name}; mkdir -p {folder}; echo forged > {name}; echo forged > new; mv -f new {name}; \
         ln -f new {name}; rm -f {name}; mv {folder} aside; mv {top} moved; mkdir -p {folder}; \
         echo forged > {name}; true"
    )
}
