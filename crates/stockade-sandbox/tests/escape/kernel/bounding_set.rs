//! 71: may come to have capabilities by a program.

use std::io::Error;

use stockade_sandbox::Mechanism::NoCapabilities;

use crate::support::{Attack, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 71,
    attempt: |_| {
        const CAP_SYS_ADMIN: usize = 21;
        let may = call(libc::SYS_prctl, &[libc::PR_CAPBSET_READ as usize, CAP_SYS_ADMIN, 0, 0, 0])?;
        if may == 1 { done(Ok(())) } else { Err(Error::other("it may not")) }
    },
    refused: &[Reason::Nothing],
    locks: &[&[NoCapabilities]],
    ..Attack::CALL
};
