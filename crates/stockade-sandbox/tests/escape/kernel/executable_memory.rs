//! 77: makes all memory that it can read executable.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, call, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 77,
    attempt: |_| {
        const READ_IMPLIES_EXEC: usize = 0x40_0000;
        done(in_child(|| call(libc::SYS_personality, &[READ_IMPLIES_EXEC]).map(drop)))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
