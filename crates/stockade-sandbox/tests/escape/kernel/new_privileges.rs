//! 71: may come to have privileges by a program.

use std::io::Error;

use stockade_sandbox::Mechanism::NoNewPrivileges;

use crate::support::{Attack, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 71,
    attempt: |_| {
        let given_up = call(libc::SYS_prctl, &[libc::PR_GET_NO_NEW_PRIVS as usize, 0, 0, 0, 0])?;
        if given_up == 0 { done(Ok(())) } else { Err(Error::other("it may not")) }
    },
    refused: &[Reason::Nothing],
    locks: &[&[NoNewPrivileges]],
    ..Attack::CALL
};
