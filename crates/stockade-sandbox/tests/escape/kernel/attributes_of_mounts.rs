//! 75: changes the attributes of a mount.

use stockade_sandbox::Mechanism::{Filter, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 75,
    attempt: |_| {
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            // struct mount_attr: what is set first, here `noexec`.
            let attributes = [8_u64, 0, 0, 0];
            let (here, path) = (libc::AT_FDCWD as usize, c"/");
            let args = [here, address(path), 0, address(&attributes), size_of_val(&attributes)];
            call(libc::SYS_mount_setattr, &args).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
