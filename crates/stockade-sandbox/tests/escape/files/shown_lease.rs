//! 35: takes a lease on a file that can only be read, which stops writers outside.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Meanwhile, PATIENCE, Reason, call, done, within};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 35,
    plant: |scene| {
        let (path, seen) = (scene.at("shown/canary"), scene.at("project/seen"));
        scene.hold(Meanwhile::new(move || {
            let mut options = OpenOptions::new();
            let opened = options.write(true).custom_flags(libc::O_NONBLOCK).open(&path);
            let waits = opened.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            waits && fs::write(&seen, "").is_ok()
        }));
    },
    attempt: |aim| {
        let file = File::open(aim.shown("canary"))?;
        let (file, read) = (file.as_raw_fd() as usize, libc::F_RDLCK as usize);
        // A signal that ends nobody, when somebody opens the file.
        call(libc::SYS_fcntl, &[file, F_SETSIG, libc::SIGURG as usize])?;
        let take = || call(libc::SYS_fcntl, &[file, libc::F_SETLEASE as usize, read]);
        let mut taken = take();
        // As long as the harness has it open there is none to be had, which is no refusal.
        let is_open = |error: &std::io::Error| error.kind() == ErrorKind::WouldBlock;
        within(PATIENCE, || {
            let again = taken.as_ref().is_err_and(is_open);
            if again {
                taken = take();
            }
            !again
        });
        taken?;
        // The harness says when it had to wait.
        within(PATIENCE, || aim.project("seen").exists());
        done(Ok(()))
    },
    reached: |scene, _| scene.held::<Meanwhile>().has_happened(),
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};

/// From `asm-generic/fcntl.h`.
const F_SETSIG: usize = 10;
