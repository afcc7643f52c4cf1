//! 77: loads a module, which is none.

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 77,
    needs: &[Need::Root, Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        let nothing = c"";
        match call(libc::SYS_init_module, &[address(nothing), 0, address(nothing)]) {
            // It was read, and so may be loaded.
            Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => done(Ok(())),
            other => done(other),
        }
    },
    refused: &[Reason::Errno(libc::EPERM)],
    kernel_default: Some(
        "the kernel lets only root of the machine do it, and a user namespace does not make one",
    ),
    ..Attack::CALL
};
