//! 67: makes a process in a user namespace by the call whose flags are in memory.

use stockade_sandbox::Mechanism::{Filter, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| {
        done(in_child(|| {
            // struct clone_args: flags first, the signal fifth.
            let mut structure = [0_u64; 8];
            structure[0] = libc::CLONE_NEWUSER as u64;
            structure[4] = libc::SIGCHLD as u64;
            call(libc::SYS_clone3, &[address(&structure), size_of_val(&structure)]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::ENOSYS)],
    locks: &[&[Filter], &[NoNesting]],
    ..Attack::CALL
};
