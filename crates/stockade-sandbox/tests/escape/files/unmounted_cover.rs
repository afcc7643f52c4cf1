//! 21: takes the cover off a hidden file, and reads it.

use std::fs;

use stockade_sandbox::Mechanism::{Filter, HiddenPaths, Landlock, LockedMounts, NoCapabilities};

use crate::support::{Attack, Reason, address, call};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 21,
    attempt: |_| {
        let path = c".env";
        let uncovered = call(libc::SYS_umount2, &[address(path), libc::MNT_DETACH as usize]);
        match fs::read_to_string(".env") {
            // Who has capabilities can open the cover, and finds no text in it.
            Ok(content) if content.bytes().any(|byte| byte != 0) => Ok(content),
            Ok(_) | Err(_) => {
                uncovered?;
                fs::read_to_string(".env")
            }
        }
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[
        &[Filter, HiddenPaths],
        &[LockedMounts, HiddenPaths],
        &[Landlock, HiddenPaths],
        &[NoCapabilities, HiddenPaths],
    ],
    ..Attack::READ
};
