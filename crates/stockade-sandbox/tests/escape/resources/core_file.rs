//! 108: leaves an image of its memory in the project.

use std::fs;
use std::io::Error;
use std::process::Command;

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Need, Reason, address, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 108,
    needs: &[Need::Kernel(libc::ENOSYS)],
    attempt: |_| {
        let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern")?;
        if !pattern.starts_with("core") {
            return Err(Error::from_raw_os_error(libc::ENOSYS));
        }
        let mut limit = [0_u64; 2];
        let core = libc::RLIMIT_CORE as usize;
        call(libc::SYS_prlimit64, &[0, core, 0, room(&mut limit)])?;
        limit[0] = limit[1];
        call(libc::SYS_prlimit64, &[0, core, address(&limit), 0])?;
        #[expect(clippy::disallowed_methods, reason = "the attacker ends another, not itself")]
        Command::new("/bin/sh").args(["-c", "kill -SEGV $$"]).status()?;
        let mut files = fs::read_dir(".")?.filter_map(Result::ok);
        let found = files.any(|file| file.file_name().as_encoded_bytes().starts_with(b"core"));
        if found { done(Ok(())) } else { Err(Error::other("there is none")) }
    },
    reached: |scene, _| {
        let mut files = fs::read_dir(scene.at("project")).unwrap().filter_map(Result::ok);
        files.any(|file| file.file_name().as_encoded_bytes().starts_with(b"core"))
    },
    refused: &[Reason::Nothing],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
