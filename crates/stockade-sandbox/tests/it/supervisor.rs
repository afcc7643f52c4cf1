//! A supervisor that is killed takes its runs with it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::roles;
use crate::support::{Mark, PATIENCE, bare, within};

#[test]
fn nothing_is_left_after_a_supervisor_is_killed() {
    dies_with_its_supervisor("supervisor", 4);
}

#[test]
fn no_box_is_left_after_its_supervisor_is_killed() {
    dies_with_its_supervisor("box-supervisor", 3);
}

fn dies_with_its_supervisor(role: &str, processes: usize) {
    let mark = Mark::new();
    let mut supervisor = roles::command(role)
        .env("STOCKADE_TEST_TREE", mark.text())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("pid=")));
    mark.await_found(processes);
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(within(PATIENCE, || mark.found().is_empty()), "{:?}", mark.found());
}

/// A host that forks without executing, as Python's multiprocessing does, leaves copies of the
/// control socket behind; the shim must not wait for those to close.
#[test]
fn a_forked_copy_of_the_supervisor_does_not_keep_its_tree_alive() {
    dies_though_a_copy_lives("forking-supervisor");
}

#[test]
fn a_forked_copy_of_the_supervisor_does_not_keep_its_box_alive() {
    dies_though_a_copy_lives("forking-box-supervisor");
}

fn dies_though_a_copy_lives(role: &str) {
    let mark = Mark::new();
    let mut supervisor = roles::command(role)
        .env("STOCKADE_TEST_TREE", mark.text())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(supervisor.stdout.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|line| line.starts_with("copy=")).unwrap();
    let copy = line.trim_start_matches("copy=").to_owned();
    mark.await_found(1);
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let gone = within(PATIENCE, || mark.found().is_empty());
    bare("kill").args(["-9", &copy]).status().unwrap();
    assert!(gone, "{:?}", mark.found());
}
