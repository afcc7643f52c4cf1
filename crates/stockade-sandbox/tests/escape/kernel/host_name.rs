//! 67: asks for the name of the machine.

use stockade_sandbox::Mechanism::UtsNamespace;

use crate::support::{Attack, Reason};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 67,
    attempt: |_| Ok(rustix::system::uname().nodename().to_string_lossy().into_owned()),
    reached: |_, loot| {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy() == loot
    },
    refused: &[Reason::Nothing],
    locks: &[&[UtsNamespace]],
    ..Attack::CALL
};
