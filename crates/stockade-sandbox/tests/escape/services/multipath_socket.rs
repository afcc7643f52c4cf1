//! 60: opens a socket of the multipath protocol.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 60,
    needs: &[Need::Kernel(libc::EPROTONOSUPPORT), Need::Kernel(libc::ENOPROTOOPT)],
    attempt: |_| {
        done(call(
            libc::SYS_socket,
            &[libc::AF_INET as usize, libc::SOCK_STREAM as usize, libc::IPPROTO_MPTCP as usize],
        ))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
