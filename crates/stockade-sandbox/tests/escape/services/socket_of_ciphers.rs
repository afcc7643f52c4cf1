//! 60: opens a socket to the kernel's ciphers.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 60,
    needs: &[Need::Kernel(libc::EAFNOSUPPORT)],
    attempt: |_| {
        done(call(libc::SYS_socket, &[libc::AF_ALG as usize, libc::SOCK_SEQPACKET as usize, 0]))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
