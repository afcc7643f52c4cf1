//! Streams, descriptors, environment and signals: what a program gets, and that it gets no more.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{FdFlags, dup, fcntl_getfd};
use stockade_sandbox::{Spec, Stdin, start};

use crate::support::{bare, finish, shell, spec, text};

#[test]
fn a_leaked_descriptor_does_not_reach_the_program() {
    let line = "echo /proc/self/fd/*";
    let leaked = dup(File::open("/etc/passwd").unwrap()).unwrap();
    let path = format!("/proc/self/fd/{}", leaked.as_raw_fd());
    let control = bare("/bin/sh").args(["-c", line]).output().unwrap();
    assert!(String::from_utf8(control.stdout).unwrap().contains(&path), "a bare spawn leaks it");

    let (_, out, _) = finish(&mut start(shell(line)).unwrap());
    // The shell opens the folder itself to list it.
    let numbers: Vec<_> = out.split_whitespace().map(|path| &path[14..]).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
}

#[test]
fn the_environment_is_what_was_listed() {
    let mut spec = spec("/usr/bin/env", &[]);
    spec.env = vec![text("A=1"), text("B=zwei drei")];
    assert_eq!(finish(&mut start(spec).unwrap()).1, "A=1\nB=zwei drei\n");
}

#[test]
fn standard_input_is_empty_or_a_pipe() {
    let (_, out, _) = finish(&mut start(spec("/bin/cat", &[])).unwrap());
    assert_eq!(out, "");
    let mut run = start(Spec { stdin: Stdin::Piped, ..spec("/bin/cat", &[]) }).unwrap();
    let stdin = run.take_stdin().unwrap();
    assert!(run.take_stdin().is_none());
    let mut stdin = File::from(stdin);
    stdin.write_all(b"hello").unwrap();
    drop(stdin);
    assert_eq!(finish(&mut run).1, "hello");
}

#[test]
fn our_ends_do_not_block_and_are_not_inherited() {
    let mut run = start(Spec { stdin: Stdin::Piped, ..spec("/bin/cat", &[]) }).unwrap();
    let stdin = run.take_stdin().unwrap();
    for end in [stdin.as_fd(), run.stdout(), run.stderr()] {
        assert!(fcntl_getfl(end).unwrap().contains(OFlags::NONBLOCK));
        assert!(fcntl_getfd(end).unwrap().contains(FdFlags::CLOEXEC));
    }
    assert!(fcntl_getfd(run.control()).unwrap().contains(FdFlags::CLOEXEC));
}

#[test]
fn the_program_has_a_session_of_its_own_and_clean_signals() {
    let line = "cut -d' ' -f1,5,6 /proc/$$/stat; grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let mut run = start(shell(line)).unwrap();
    let pid = run.pid();
    let (_, out, _) = finish(&mut run);
    let none = "0000000000000000";
    assert_eq!(out, format!("{pid} {pid} {pid}\nSigBlk:\t{none}\nSigIgn:\t{none}\n"));
}

#[test]
fn the_program_is_scheduled_like_its_host() {
    // Fields 18, 19, 40 and 41 of stat(5): priority, nice, real-time priority, policy.
    let line = "cut -d' ' -f18,19,40,41 /proc/self/stat";
    let control = bare("/bin/sh").args(["-c", line]).output().unwrap();
    let (_, out, _) = finish(&mut start(shell(line)).unwrap());
    assert_eq!(out, String::from_utf8(control.stdout).unwrap());
}

#[test]
fn the_working_directory_is_the_one_given() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = crate::support::opened(folder.path().to_str().unwrap());
    let (_, out, _) = finish(&mut start(Spec { cwd, ..spec("/bin/pwd", &[]) }).unwrap());
    assert_eq!(out.trim_end(), folder.path().to_str().unwrap());
}
