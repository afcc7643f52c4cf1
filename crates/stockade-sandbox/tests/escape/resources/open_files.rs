//! 90: opens more files than a process may.

use std::fs::File;
use std::io::Result;

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 90,
    attempt: |_| {
        let all: Result<Vec<File>> = (0..200).map(|_| File::open("/dev/null")).collect();
        done(all)
    },
    refused: &[Reason::Errno(libc::EMFILE)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
