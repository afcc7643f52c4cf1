//! 87: makes more processes than the box may have.

use std::io::Result;
use std::process::{Child, Command};

use stockade_sandbox::Mechanism::{Cgroup, Rlimits};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 87,
    attempt: |_| {
        let mut made = Vec::new();
        let result = (0..64).try_for_each(|_| sleeper().map(|child| made.push(child)));
        for mut child in made {
            child.kill()?;
            child.wait()?;
        }
        done(result)
    },
    refused: &[Reason::Errno(libc::EAGAIN)],
    locks: &[&[Rlimits], &[Cgroup]],
    ..Attack::CALL
};

fn sleeper() -> Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the attacker makes processes")]
    Command::new("/bin/sleep").arg("100").spawn()
}
