//! 65: handles page faults itself, which makes races in the kernel easy to win.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 65,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        const USER_MODE_ONLY: usize = 1;
        done(call(libc::SYS_userfaultfd, &[USER_MODE_ONLY]))
    },
    refused: &[Reason::Errno(libc::ENOSYS)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
