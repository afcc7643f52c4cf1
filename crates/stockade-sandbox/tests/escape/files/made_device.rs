//! 24: makes a device file.

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 24,
    needs: &[Need::Root],
    attempt: |_| {
        let (here, name) = (libc::AT_FDCWD as usize, c"device");
        let (mode, null) = ((libc::S_IFCHR | 0o666) as usize, libc::makedev(1, 3) as usize);
        done(call(libc::SYS_mknodat, &[here, address(name), mode, null]))
    },
    refused: &[Reason::Errno(libc::EACCES)],
    kernel_default: Some(
        "the kernel lets only root of the machine do it, and a user namespace does not make one",
    ),
    ..Attack::CALL
};
