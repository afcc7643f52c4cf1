//! Reaching the scratch folder, and with it the bundle, of a call that was started with other variables, or
//! of another project.

use std::fs;
use std::path::Path;

use super::places::{command, project, stockade};
use crate::support::{Project, Told};

/// A sandbox that was started without the variables would show a scratch folder in its project, and with
/// it the bundle of another call.
#[test]
fn scratch_folders_are_in_no_place_that_another_sandbox_could_show() {
    let project = project();
    let line = ["shell", "--tier=process", "--mode=bypass", "echo $HOME"];
    let home = project.path("").display().to_string();
    // The supervisor of another project, which may be the one that comes second.
    let other = project.beside("other");
    fs::create_dir(&other).unwrap();
    let mut elsewhere = command(&project, Path::new(env!("CARGO_BIN_EXE_stockade")), &line);
    for told in
        [stockade(&project, &line), Told::from(elsewhere.current_dir(&other).output().unwrap())]
    {
        assert!(told.stdout.contains("/run-"), "the control: {told:?}");
        assert!(!told.stdout.starts_with(&home), "{told:?}");
    }
    // Nor through a link to a folder that is known, which could be replaced.
    let own = rustix::process::geteuid().as_raw();
    std::os::unix::fs::symlink(project.runtime(), project.path("linked")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    let mut linked = command(&project, program, &line);
    linked.env("XDG_RUNTIME_DIR", project.path("linked"));
    let told = Told::from(linked.output().unwrap());
    let real = project.runtime().join(format!("stockade-{own}"));
    assert!(told.stdout.starts_with(real.to_str().unwrap()), "the control: {told:?}");
}

/// A project may be the folder that holds all scratch folders.
#[test]
fn a_project_that_holds_all_scratch_folders_shows_none() {
    let project = Project::new();
    fs::write(project.runtime().join("secret"), "secret").unwrap();
    let own = rustix::process::geteuid().as_raw();
    let line =
        format!("ls /tmp/stockade-{own}; cat {}/secret; echo ran", project.runtime().display());
    let told = project.stockade(&["shell", "--mode=bypass", "--root=/tmp", &line]);
    assert!(told.stdout.ends_with("ran\n") || told.code == 125, "{told:?}");
    assert!(!told.stdout.contains("secret") && !told.stdout.contains("test-"), "{told:?}");
}
