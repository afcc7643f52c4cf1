//! 25: opens a new file that runs as its owner, by a call whose mode is in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, address, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 25,
    attempt: |_| {
        // struct open_how: flags, mode, resolve.
        let how = [(libc::O_CREAT | libc::O_WRONLY) as u64, 0o4755, 0];
        let (here, name) = (libc::AT_FDCWD as usize, c"tool");
        let args = [here, address(name), address(&how), size_of_val(&how)];
        done(call(libc::SYS_openat2, &args))
    },
    reached: |scene, _| {
        fs::metadata(scene.at("project/tool")).is_ok_and(|file| file.mode() & 0o4000 != 0)
    },
    refused: &[Reason::Errno(libc::ENOSYS)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
