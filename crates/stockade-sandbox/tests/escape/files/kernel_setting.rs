//! 14: writes a setting of the kernel, the one that it has.

use std::fs;

use stockade_sandbox::Mechanism::OtherUser;

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 14,
    needs: &[Need::Root],
    attempt: |_| {
        const SETTING: &str = "/proc/sys/kernel/core_pattern";
        let value = fs::read(SETTING)?;
        done(fs::write(SETTING, value))
    },
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[OtherUser]],
    ..Attack::CALL
};
