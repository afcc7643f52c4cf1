//! 82: maps more memory than a process may.

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 82,
    attempt: |_| {
        let (read, flags) = (libc::PROT_READ as usize, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let flags = (flags | libc::MAP_NORESERVE) as usize;
        done(call(libc::SYS_mmap, &[0, 1 << 30, read, flags, usize::MAX, 0]))
    },
    refused: &[Reason::Errno(libc::ENOMEM)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
