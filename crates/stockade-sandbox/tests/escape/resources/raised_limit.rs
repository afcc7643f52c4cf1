//! 90: raises the number of files that it may open.

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 90,
    attempt: |_| {
        let limit = [512_u64, 512];
        done(call(libc::SYS_prlimit64, &[0, libc::RLIMIT_NOFILE as usize, address(&limit), 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
