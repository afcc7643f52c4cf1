//! 37: takes an open folder from a program outside, and opens a file beneath it.

use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use stockade_sandbox::Mechanism::Landlock;

use crate::support::{Attack, Meanwhile, Reason, take};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 37,
    plant: |scene| {
        let listener = UnixListener::bind(scene.at("project/hand")).unwrap();
        fs::set_permissions(scene.at("project/hand"), Permissions::from_mode(0o777)).unwrap();
        let given = File::open(scene.at("outside")).unwrap();
        scene.hold(Meanwhile::hand_over(listener, given.into()));
    },
    attempt: |aim| {
        let folder = take(&aim.project("hand"))?;
        fs::read_to_string(format!("/proc/self/fd/{}/canary", folder.as_raw_fd()))
    },
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[Landlock]],
    ..Attack::READ
};
