//! 66: puts words into the mouth of a terminal, with bits that the kernel ignores.

use std::os::fd::AsRawFd;

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, Scene, address, call, done, in_child, take};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 66,
    needs: &[Need::Kernel(libc::EIO)],
    plant: Scene::plant_terminal,
    attempt: |aim| {
        let terminal = take(&aim.project("hand"))?;
        let terminal = terminal.as_raw_fd() as usize;
        done(in_child(|| {
            call(libc::SYS_setsid, &[])?;
            call(libc::SYS_ioctl, &[terminal, libc::TIOCSCTTY as usize, 0])?;
            let byte = c"x";
            call(
                libc::SYS_ioctl,
                &[terminal, 0xffff_ffff << 32 | libc::TIOCSTI as usize, address(byte)],
            )
            .map(drop)
        }))
    },
    reached: |scene, _| scene.terminal_has_heard("x"),
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
