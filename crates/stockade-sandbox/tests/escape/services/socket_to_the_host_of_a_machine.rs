//! 57: opens a socket to the host of a virtual machine.

use stockade_sandbox::Mechanism::Filter;

use crate::support::{Attack, Need, Reason, call, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 57,
    needs: &[Need::Kernel(libc::EAFNOSUPPORT)],
    attempt: |_| {
        done(call(libc::SYS_socket, &[libc::AF_VSOCK as usize, libc::SOCK_STREAM as usize, 0]))
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter]],
    ..Attack::CALL
};
