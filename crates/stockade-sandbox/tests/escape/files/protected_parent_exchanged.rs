//! 41: exchanges the folder of a protected file with another.

use std::fs;

use stockade_sandbox::Mechanism::ProtectedPaths;

use crate::support::{Attack, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| {
        fs::create_dir("other")?;
        fs::write("other/config", "evil")?;
        let (here, other, git) = (libc::AT_FDCWD as usize, c"other", c".git");
        let flags = libc::RENAME_EXCHANGE as usize;
        done(call(libc::SYS_renameat2, &[here, address(other), here, address(git), flags]))
    },
    reached: |scene, _| scene.read("project/.git/config") == "evil",
    refused: &[Reason::Errno(libc::EBUSY)],
    locks: &[&[ProtectedPaths]],
    ..Attack::CALL
};
