//! 84: fills files that are in memory and have no name.

use std::fs::File;
use std::io::Write;

use rustix::fs::{MemfdFlags, memfd_create};
use stockade_sandbox::Mechanism::Cgroup;

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 84,
    needs: &[Need::Cgroup],
    attempt: |_| {
        let part = vec![1_u8; 3 << 20];
        let mut held = Vec::new();
        for _ in 0..70 {
            let mut file = File::from(memfd_create("x", MemfdFlags::empty())?);
            file.write_all(&part)?;
            held.push(file);
        }
        done(Ok(held))
    },
    refused: &[Reason::Signal(libc::SIGKILL)],
    locks: &[&[Cgroup]],
    ..Attack::CALL
};
