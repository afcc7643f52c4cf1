//! 41: makes a protected file that is not there by writing through a link that leads nowhere yet.

use std::fs;
use std::os::unix::fs::symlink;

use stockade_sandbox::Mechanism::Broker;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| {
        symlink("/proc/self/cwd/.mcp.json", "innocent")?;
        done(fs::write("innocent", "evil"))
    },
    reached: |scene, _| scene.read("project/.mcp.json") == "evil",
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[Broker]],
    forbids: &["project/.mcp.json"],
    ..Attack::CALL
};
