//! 55: connects to a service of the machine over IPv6.

use std::net::{TcpListener, TcpStream};

use stockade_sandbox::Mechanism::{Filter, NetworkNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 55,
    plant: |scene| {
        let listener = TcpListener::bind("[::1]:0").unwrap();
        scene.tell("port", &listener.local_addr().unwrap().port());
        scene.hold(listener);
    },
    attempt: |aim| done(TcpStream::connect(format!("[::1]:{}", aim.fact("port")))),
    reached: |scene, _| {
        let listener = scene.held::<TcpListener>();
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    },
    refused: &[Reason::Errno(libc::EAFNOSUPPORT)],
    locks: &[&[Filter], &[NetworkNamespace]],
    ..Attack::CALL
};
