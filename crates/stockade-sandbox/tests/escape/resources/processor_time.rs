//! 79: works without end, for longer than it may.

use stockade_sandbox::Mechanism::Rlimits;

use crate::support::{Attack, Reason, call, done, room};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 79,
    attempt: |_| {
        let clock = libc::CLOCK_PROCESS_CPUTIME_ID as usize;
        // Seconds and nanoseconds.
        let mut used = [0_u64; 2];
        while used < [1, 200_000_000] {
            call(libc::SYS_clock_gettime, &[clock, room(&mut used)])?;
        }
        done(Ok(()))
    },
    refused: &[Reason::Signal(libc::SIGXCPU)],
    locks: &[&[Rlimits]],
    ..Attack::CALL
};
