//! What cannot be started is an error that names the step, never an exit code.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use stockade_sandbox::{Errno, Spec, StartError, Step, start};

use crate::support::{opened, spec, text};

fn refused(spec: Spec) -> StartError {
    start(spec).unwrap_err()
}

fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    file
}

fn executing(errno: Errno) -> StartError {
    StartError { step: Step::Execute, errno }
}

#[test]
fn a_file_without_execute_permission() {
    let file = file("", 0o644);
    assert_eq!(refused(spec(file.path().to_str().unwrap(), &[])), executing(Errno::ACCESS));
}

#[test]
fn a_file_that_is_no_program() {
    let file = file("no magic\n", 0o755).into_temp_path();
    assert_eq!(refused(spec(file.to_str().unwrap(), &[])), executing(Errno::NOEXEC));
}

#[test]
fn a_folder() {
    assert_eq!(refused(spec("/", &[])), executing(Errno::ACCESS));
}

#[test]
fn three_megabytes_of_arguments() {
    let arg = "x".repeat(100_000);
    let args = vec![arg.as_str(); 30];
    assert_eq!(refused(spec("/bin/true", &args)), executing(Errno::TOOBIG));
}

#[test]
fn one_argument_of_two_hundred_kilobytes() {
    let arg = "x".repeat(200_000);
    assert_eq!(refused(spec("/bin/true", &[&arg])), executing(Errno::TOOBIG));
}

#[test]
fn a_megabyte_of_arguments_is_fine() {
    let arg = "x".repeat(100_000);
    let args = vec![arg.as_str(); 10];
    assert_eq!(start(spec("/bin/true", &args)).unwrap().wait().unwrap().leftovers, 0);
}

#[test]
fn a_working_directory_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = opened(folder.path().to_str().unwrap());
    folder.close().unwrap();
    let error = refused(Spec { cwd, ..spec("/bin/true", &[]) });
    assert_eq!(error, StartError { step: Step::EnterDirectory, errno: Errno::NOENT });
}

#[test]
fn a_working_directory_that_is_a_file() {
    let error = refused(Spec { cwd: opened("/bin/true"), ..spec("/bin/true", &[]) });
    assert_eq!(error, StartError { step: Step::EnterDirectory, errno: Errno::NOTDIR });
}

#[test]
fn a_ruleset_that_is_none() {
    let error = refused(Spec { signal_scope: Some(opened("/")), ..spec("/bin/true", &[]) });
    assert_eq!(error.step, Step::ScopeTree);
}

#[test]
fn the_message_completes_could_not() {
    let error = executing(Errno::NOENT);
    assert_eq!(format!("could not {error}"), "could not execute the program");
}

#[test]
fn no_arguments_at_all_still_start() {
    let spec = Spec { argv: vec![], env: vec![], ..spec("/bin/true", &[]) };
    start(spec).unwrap().wait().unwrap();
}

#[test]
fn an_empty_argument_is_kept() {
    let mut spec = spec("/bin/sh", &["-c", "echo $#:$1:$2", "sh", "", "b"]);
    spec.env.push(text("EMPTY="));
    let (_, out, _) = crate::support::finish(&mut start(spec).unwrap());
    assert_eq!(out, "2::b\n");
}
