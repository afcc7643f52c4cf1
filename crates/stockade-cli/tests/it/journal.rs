//! A journal that cannot be used: nothing runs, and the status says so.

use std::fs;

use crate::support::{Project, skip};

#[track_caller]
fn nothing_runs(project: &Project, journal: &str, codes: &[i32]) {
    project.script("mark.sh", "touch spawned\n");
    let told = project.stockade(&["run", "--journal", journal, "--", "sh", "mark.sh"]);
    assert!(codes.contains(&told.code), "{told:?}");
    assert!(told.stderr.starts_with("stockade: ") && told.stderr.contains("journal"), "{told:?}");
    assert!(!project.path("spawned").exists(), "it ran without a record");
}

#[test]
fn a_folder_a_device_or_a_place_that_cannot_be_is_an_error() {
    let project = Project::new();
    fs::create_dir(project.path("folder")).unwrap();
    project.write("file", "");
    for journal in ["folder", ".", "/dev/full", "/dev/null", "/proc/no/journal", "file/journal"] {
        nothing_runs(&project, journal, &[125]);
    }
}

#[test]
fn a_file_that_is_no_journal_is_not_appended_to() {
    let project = Project::new();
    project.write("notes", "dear diary\n");
    nothing_runs(&project, "notes", &[125, 126]);
    assert_eq!(fs::read_to_string(project.path("notes")).unwrap(), "dear diary\n");
}

#[test]
fn a_journal_that_was_tampered_with_refuses_and_verify_names_the_line() {
    let project = Project::new();
    for _ in 0..3 {
        assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    }
    let text = fs::read_to_string(project.journal()).unwrap();
    let last = text.lines().last().unwrap();
    let changed = text.replace(last, &last.replace("\"exit_code\":0", "\"exit_code\":1"));
    assert_ne!(changed, text);
    fs::write(project.journal(), changed).unwrap();
    let journal = project.journal();
    nothing_runs(&project, journal.to_str().unwrap(), &[125, 126]);
    let told = project.stockade(&["audit", "verify"]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains("line 6"), "{told:?}");
    let found = project.stockade(&["audit", "verify", "--json"]);
    assert_eq!((found.code, &found.json()["ok"]), (1, &false.into()));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let project = Project::new();
    if fs::metadata(project.beside("state")).unwrap().uid() == 0 {
        skip("non-root", "folder modes do not bind root");
        return;
    }
    fs::set_permissions(project.beside("state"), fs::Permissions::from_mode(0o500)).unwrap();
    let told = project.stockade(&["run", "--", "true"]);
    fs::set_permissions(project.beside("state"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(told.code, 125, "{told:?}");
}

#[test]
fn without_a_home_the_journal_has_to_be_named() {
    let project = Project::new();
    let mut command = project.command(&["run", "--", "true"]);
    command.env_remove("XDG_STATE_HOME").env("XDG_STATE_HOME", "relative/is/not/used");
    let told = crate::support::Told::from(command.output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    assert!(project.beside("home/.local/state/stockade/journal.jsonl").exists());
    assert!(!project.path("relative").exists());
}
