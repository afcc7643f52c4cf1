//! 65: opens a ring of system calls, which no filter sees.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 65,
    needs: &[Need::Kernel(libc::ENOSYS), Need::Kernel(libc::EPERM)],
    attempt: |_| {
        let mut parameters = [0_u64; 15];
        done(call(libc::SYS_io_uring_setup, &[1, room(&mut parameters)]))
    },
    refused: &[Reason::Errno(libc::ENOSYS)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
