//! 65: makes memory that the kernel itself cannot read.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 65,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| done(call(libc::SYS_memfd_secret, &[0])),
    refused: &[Reason::Errno(libc::ENOSYS)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
