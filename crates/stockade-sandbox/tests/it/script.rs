//! Scripts are executed by name, if the name still leads to the judged file.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use stockade_sandbox::{Errno, Spec, StartError, Step, start};

use crate::support::{finish, opened, spec, text, write_script};

fn script(folder: &Path, line: &str) {
    write_script(folder.join("s"), &format!("#!/bin/sh\n{line}\n"));
}

fn run_in(folder: &Path, name: Option<CString>) -> Spec {
    let path = folder.join("s");
    Spec {
        script: name,
        argv: vec![text("s"), text("one")],
        cwd: opened(folder.to_str().unwrap()),
        ..spec(path.to_str().unwrap(), &[])
    }
}

#[test]
fn a_script_sees_its_own_path_and_arguments() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "echo $0 $1");
    let (_, out, _) = finish(&mut start(run_in(folder.path(), Some(text("./s")))).unwrap());
    assert_eq!(out, "./s one\n");
}

#[test]
fn an_absolute_path_will_do() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "echo $1");
    let path = folder.path().join("s");
    let spec = run_in(folder.path(), Some(text(path.to_str().unwrap())));
    assert_eq!(finish(&mut start(spec).unwrap()).1, "one\n");
}

#[test]
fn a_script_that_was_replaced_after_the_judgement_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "echo judged");
    let spec = run_in(folder.path(), Some(text("s")));
    fs::rename(folder.path().join("s"), folder.path().join("old")).unwrap();
    script(folder.path(), "echo replaced");
    let error = start(spec).unwrap_err();
    assert_eq!(error, StartError { step: Step::RecheckScript, errno: Errno::STALE });
}

#[test]
fn a_script_without_its_path_is_an_error_not_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "echo never");
    let error = start(run_in(folder.path(), None)).unwrap_err();
    assert_eq!(error, StartError { step: Step::Execute, errno: Errno::NOENT });
}
