//! 63: traces another process of its own.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, call, done, with_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 63,
    attempt: |_| {
        // PTRACE_SEIZE of linux/ptrace.h.
        done(with_child(|pid| call(libc::SYS_ptrace, &[0x4206, pid, 0, 0])))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
