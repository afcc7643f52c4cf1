//! 65: makes a table for a program that runs in the kernel.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, UserNamespace};

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 65,
    needs: &[Need::Root, Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        const MAP_CREATE: usize = 0;
        // union bpf_attr: an array, the sizes of key and value, one entry.
        let table = [2_u32, 4, 4, 1, 0, 0, 0, 0];
        done(call(libc::SYS_bpf, &[MAP_CREATE, address(&table), size_of_val(&table)]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[UserNamespace], &[NoCapabilities]],
    ..Attack::CALL
};
