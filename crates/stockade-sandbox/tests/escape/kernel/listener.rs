//! 70: lets itself answer for its own system calls.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, address, call, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 70,
    attempt: |_| {
        const SET_MODE_FILTER: usize = 1;
        const NEW_LISTENER: usize = 8;
        // One instruction that allows everything, and struct sock_fprog.
        let instruction = 0x7fff_0000_0000_0006_u64;
        let program = [1, address(&instruction)];
        done(in_child(|| {
            call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0])?;
            call(libc::SYS_seccomp, &[SET_MODE_FILTER, NEW_LISTENER, address(&program)]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
