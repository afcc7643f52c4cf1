//! 63: compares what two processes share, down to addresses of the kernel.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done, with_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 63,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        const FILES: usize = 2;
        let own = std::process::id() as usize;
        done(with_child(|pid| call(libc::SYS_kcmp, &[own, pid, FILES, 0, 0])))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
