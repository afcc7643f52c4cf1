//! 34: opens a watch that can cover whole file systems.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 34,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        // By file number, which needs no privilege.
        done(call(libc::SYS_fanotify_init, &[libc::FAN_REPORT_FID as usize, 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
