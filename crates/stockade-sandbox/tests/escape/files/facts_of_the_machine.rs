//! 16: reads the command line of the kernel.

use std::fs;

use crate::support::Attack;

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 16,
    attempt: |_| Ok(fs::read_to_string(COMMAND_LINE)?.trim().to_owned()),
    reached: |_, loot| fs::read_to_string(COMMAND_LINE).unwrap().trim() == loot,
    known_gap: Some("what the kernel tells everybody of the machine in `/proc` can be read"),
    ..Attack::CALL
};

const COMMAND_LINE: &str = "/proc/cmdline";
