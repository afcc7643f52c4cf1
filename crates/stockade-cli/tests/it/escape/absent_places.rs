//! Making one of Stockade's own places before Stockade does, or being there first: the scratch folders of
//! later calls would be in it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::places::{READ_ONLY, attack, command, hidden, plant, project, stockade};
use crate::support::{Told, eventually};

#[test]
fn what_is_not_there_yet_cannot_be_made_by_a_call() {
    for name in hidden().iter().map(String::as_str).chain([READ_ONLY]) {
        let project = project();
        stockade(&project, &["shell", "--mode=bypass", &attack(name)]);
        assert!(!project.path(name).exists(), "{name}");
        let told = stockade(&project, &["shell", "echo next"]);
        assert_eq!(told.stdout, "next\n", "{name}: {told:?}");
    }
    // The control.
    let project = project();
    let told = stockade(&project, &["shell", "mkdir -p run/other; echo x > run/other/file"]);
    assert!(project.path("run/other/file").exists(), "{told:?}");
}

/// The folder comes to be, and is filled, while a sandbox runs that was there first.
#[test]
fn a_sandbox_that_was_there_first_does_not_see_what_comes_later() {
    let project = project();
    let line = "touch ready; while [ ! -e go ]; do sleep 0.05; done; \
                cat run/stockade*/run-*/x; echo forged > run/stockade-0/run-later/x; ls run/*/ | wc -l";
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    let args = ["shell", "--mode=bypass", "--timeout", "60s", line];
    let child = command(&project, program, &args).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || project.path("ready").exists()));
    let own = rustix::process::geteuid().as_raw();
    let later = format!("run/stockade-{own}/run-later/x");
    plant(&project, &later);
    fs::write(project.path("go"), "").unwrap();
    let told = Told::from(child.wait_with_output().unwrap());
    assert!(!told.stdout.contains("secret"), "{told:?}");
    assert_eq!(fs::read_to_string(project.path(&later)).unwrap(), "secret");
    // The control: what comes later elsewhere is seen.
    assert!(project.path("go").exists());
}

/// The session of a user may have no such folder yet. Whoever makes it would have the scratch folders of
/// later calls in it.
#[test]
fn a_runtime_folder_that_is_not_there_cannot_be_made_by_a_sandbox() {
    let own = rustix::process::geteuid().as_raw();
    let line = format!(
        "mkdir -m 700 run; mkdir -p run/stockade-{own}/x; echo x > run/stockade-{own}/x/f && echo wrote; \
         mv run other && echo moved; echo ran"
    );
    let project = project();
    fs::remove_dir(project.path("run")).unwrap();
    // The control: without a sandbox it can.
    let bare = command(&project, Path::new("/bin/sh"), &["-c", &line]).output().unwrap();
    assert_eq!(Told::from(bare).stdout, "wrote\nmoved\nran\n");
    fs::remove_dir_all(project.path("other")).unwrap();
    let told = stockade(&project, &["shell", "--mode=bypass", &line]);
    assert_eq!(told.stdout, "ran\n", "{told:?}");
}
