//! 17: has the view of cgroups that the host has.

use std::fs;

use stockade_sandbox::Mechanism::CgroupNamespace;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 17,
    attempt: |_| Ok(fs::read_link(VIEW)?.display().to_string()),
    reached: |_, loot| fs::read_link(VIEW).unwrap().as_os_str() == loot,
    refused: &[Reason::Nothing],
    locks: &[&[CgroupNamespace]],
    ..Attack::CALL
};

const VIEW: &str = "/proc/self/ns/cgroup";
