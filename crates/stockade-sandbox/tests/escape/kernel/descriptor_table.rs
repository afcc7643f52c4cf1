//! 77: reads the table of segments, a part of the kernel with a history.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 77,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        let mut table = [0_u64; 8];
        done(call(SYS_MODIFY_LDT, &[0, room(&mut table), size_of_val(&table)]))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};

#[cfg(target_arch = "x86_64")]
const SYS_MODIFY_LDT: libc::c_long = libc::SYS_modify_ldt;
/// A number that no kernel has.
#[cfg(not(target_arch = "x86_64"))]
const SYS_MODIFY_LDT: libc::c_long = 9999;
