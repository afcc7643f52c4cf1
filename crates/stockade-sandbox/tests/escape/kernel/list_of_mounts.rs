//! 75: lists mounts by the call that needs no `/proc`.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, address, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 75,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        // struct mnt_id_req: its size, padding, the root of the namespace, nothing, and where.
        let request = [24_u64, u64::MAX, 0];
        let mut mounts = [0_u64; 64];
        done(call(SYS_LISTMOUNT, &[address(&request), room(&mut mounts), mounts.len(), 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};

/// Newer than libc's tables, `asm-generic/unistd.h`.
const SYS_LISTMOUNT: libc::c_long = 458;
