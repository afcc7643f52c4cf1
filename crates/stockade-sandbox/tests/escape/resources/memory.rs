//! 82: uses more memory than the box may.

use stockade_sandbox::Mechanism::Cgroup;

use crate::support::{Attack, Need, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 82,
    needs: &[Need::Cgroup],
    attempt: |_| {
        let mut memory = vec![1_u8; 256 << 20];
        memory.iter_mut().step_by(4096).for_each(|byte| *byte = 2);
        assert!(memory.iter().step_by(4096).all(|byte| *byte == 2));
        done(Ok(()))
    },
    refused: &[Reason::Signal(libc::SIGKILL)],
    locks: &[&[Cgroup]],
    ..Attack::CALL
};
