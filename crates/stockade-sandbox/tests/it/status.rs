//! How a program ended is told truthfully.

use stockade_sandbox::{Cause, Status, start};

use crate::support::{shell, spec};

#[test]
fn a_program_that_succeeds_ends_with_code_zero_and_leaves_nothing() {
    let ended = start(spec("/bin/true", &[])).unwrap().wait().unwrap();
    assert_eq!((ended.status, ended.cause), (Status::Code(0), Cause::Exited));
    assert_eq!((ended.leftovers, ended.survivors), (0, 0));
}

#[test]
fn an_exit_code_passes_through() {
    let ended = start(shell("exit 37")).unwrap().wait().unwrap();
    assert_eq!(ended.status, Status::Code(37));
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let ended = start(shell("kill -SEGV $$")).unwrap().wait().unwrap();
    assert_eq!((ended.status, ended.cause), (Status::Signal(11), Cause::Exited));
}
