//! 77: asks for the size of the kernel's log.

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 77,
    needs: &[Need::Root, Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        const SIZE_BUFFER: usize = 10;
        done(call(libc::SYS_syslog, &[SIZE_BUFFER, 0, 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    kernel_default: Some(
        "the kernel lets only root of the machine do it, and a user namespace does not make one",
    ),
    ..Attack::CALL
};
