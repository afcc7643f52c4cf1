//! 69: makes a call of the 32-bit architecture, which a filter by number would misread.

use std::io::Error;

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 69,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| match pid_by_old_call() {
        1.. => done(Ok(())),
        errno => Err(Error::from_raw_os_error(errno.wrapping_neg())),
    },
    refused: &[Reason::Signal(libc::SIGSYS)],
    locks: &[&[Filter]],
    ..Attack::CALL
};

#[cfg(target_arch = "x86_64")]
fn pid_by_old_call() -> i32 {
    const GETPID: i32 = 20;
    let pid: i32;
    // SAFETY: getpid takes no memory; the instruction changes eax only, r8 to r11 may be lost.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("eax") GETPID => pid,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    pid
}

/// Elsewhere there is no such call.
#[cfg(not(target_arch = "x86_64"))]
fn pid_by_old_call() -> i32 {
    -libc::ENOSYS
}
