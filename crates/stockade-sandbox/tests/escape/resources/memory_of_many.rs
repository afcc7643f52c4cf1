//! 83: uses more memory than the box may, a little in each process.

use std::io::Result;

use stockade_sandbox::Mechanism::Cgroup;

use crate::support::{Attack, Need, Reason, done, in_child};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 83,
    needs: &[Need::Cgroup],
    attempt: |_| {
        const PROCESSES: usize = 8;
        done(nested(PROCESSES))
    },
    refused: &[Reason::Signal(libc::SIGKILL)],
    locks: &[&[Cgroup]],
    ..Attack::CALL
};

/// Uses memory, and holds it while further processes do the same.
fn nested(left: usize) -> Result<()> {
    let memory = vec![1_u8; 32 << 20];
    let result = if left > 1 { in_child(|| nested(left.saturating_sub(1))) } else { Ok(()) };
    assert!(memory.iter().step_by(4096).all(|byte| *byte == 1));
    result
}
