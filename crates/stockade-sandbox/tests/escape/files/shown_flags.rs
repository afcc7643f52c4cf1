//! 35: sets a flag of a file that can only be read.

use std::fs::File;
use std::os::fd::AsRawFd;

use stockade_sandbox::Mechanism::ReadOnlyBinds;

use crate::support::{Attack, Need, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    needs: &[Need::Kernel(libc::ENOTTY), Need::Kernel(libc::EOPNOTSUPP)],
    attempt: |aim| {
        // FS_NODUMP_FL, which changes nothing that matters; the others stay as they are.
        const NO_DUMP: u64 = 0x40;
        let file = File::open(aim.shown("canary"))?;
        let mut flags = 0_u64;
        let at = std::ptr::from_mut(&mut flags).expose_provenance();
        call(libc::SYS_ioctl, &[file.as_raw_fd() as usize, FS_IOC_GETFLAGS, at])?;
        flags |= NO_DUMP;
        let args = [file.as_raw_fd() as usize, FS_IOC_SETFLAGS, address(&flags)];
        done(call(libc::SYS_ioctl, &args))
    },
    refused: &[Reason::Errno(libc::EROFS)],
    // Landlock knows commands to devices only.
    locks: &[&[ReadOnlyBinds]],
    ..Attack::CALL
};

/// From `linux/fs.h`.
const FS_IOC_GETFLAGS: usize = 0x8008_6601;
const FS_IOC_SETFLAGS: usize = 0x4008_6602;
