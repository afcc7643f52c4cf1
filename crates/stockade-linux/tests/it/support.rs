//! What the tests share: specifications, reading to the end, and looking for marked processes.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::OwnedFd;

use stockade_linux::{Rlimits, Spec, Stdin, signal_scope};

/// A specification for a program and its arguments, in `/`, with a plain environment.
pub(crate) fn spec(program: &str, args: &[&str]) -> Spec {
    let argv = std::iter::once(program).chain(args.iter().copied());
    Spec {
        program: opened(program),
        script: None,
        argv: argv.map(text).collect(),
        env: vec![text("PATH=/usr/bin:/bin")],
        cwd: opened("/"),
        stdin: Stdin::Empty,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: signal_scope().unwrap(),
    }
}

/// A specification for a line of shell.
pub(crate) fn shell(line: &str) -> Spec {
    spec("/bin/sh", &["-c", line])
}

pub(crate) fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

pub(crate) fn opened(path: &str) -> OwnedFd {
    File::open(path).unwrap().into()
}
