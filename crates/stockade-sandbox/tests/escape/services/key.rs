//! 64: puts a key into a ring of the kernel.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 64,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        let (kind, name, payload) = (c"user", c"stockade-escape", c"x");
        let process_ring = (-2_isize).cast_unsigned();
        let args = [address(kind), address(name), address(payload), 1, process_ring];
        done(call(libc::SYS_add_key, &args))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
