//! 42: opens a file to read it, and opens the open file again to write it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;

use stockade_sandbox::Mechanism::{Landlock, ReadOnlyBinds};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 42,
    attempt: |aim| {
        let file = File::open(aim.shown("canary"))?;
        done(fs::write(format!("/proc/self/fd/{}", file.as_raw_fd()), "evil"))
    },
    reached: |scene, _| scene.read("shown/canary") == "evil",
    refused: &[Reason::Errno(libc::EROFS)],
    locks: &[&[ReadOnlyBinds], &[Landlock]],
    ..Attack::CALL
};
