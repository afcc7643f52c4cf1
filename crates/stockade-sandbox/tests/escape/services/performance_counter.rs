//! 65: counts what the processor does.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 65,
    needs: &[Need::Kernel(libc::ENOSYS), Need::Kernel(libc::EACCES)],
    attempt: |_| {
        // struct perf_event_attr: a software counter of the processor's time, user space only.
        let mut attributes = [0_u64; 16];
        attributes[0] = 1 | (128 << 32);
        attributes[5] = 1 << 5 | 1 << 6;
        let nothing = usize::MAX;
        done(call(libc::SYS_perf_event_open, &[address(&attributes), 0, nothing, nothing, 0]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
