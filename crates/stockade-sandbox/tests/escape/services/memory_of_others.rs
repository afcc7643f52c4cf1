//! 63: reads the memory of another process of its own.

use std::io::Error;

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Reason, address, call, done, in_child, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 63,
    attempt: |_| {
        let mut secret = 1_u64;
        let parent = std::process::id() as usize;
        done(in_child(|| {
            // The same address in both processes, and since here another value.
            secret = 2;
            let mut copy = 0_u64;
            let (own, other) = ([room(&mut copy), 8], [address(&secret), 8]);
            let args = [parent, address(&own), 1, address(&other), 1, 0];
            call(libc::SYS_process_vm_readv, &args)?;
            if copy == 1 { Ok(()) } else { Err(Error::other("it read something else")) }
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
