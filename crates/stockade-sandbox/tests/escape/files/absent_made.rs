//! 41: makes a protected file that is not there.

use std::fs;

use stockade_sandbox::Mechanism::Broker;

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 41,
    attempt: |_| done(fs::write(".mcp.json", "evil")),
    reached: |scene, _| scene.read("project/.mcp.json") == "evil",
    refused: &[Reason::Errno(libc::EACCES)],
    locks: &[&[Broker]],
    forbids: &["project/.mcp.json"],
    ..Attack::CALL
};
