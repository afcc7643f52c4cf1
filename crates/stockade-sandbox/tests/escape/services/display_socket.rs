//! 49: connects to the display's socket, which has a name but no path.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use stockade_sandbox::Mechanism::{Landlock, NetworkNamespace};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 49,
    plant: |scene| {
        let name = format!("/tmp/.X11-unix/X{}", scene.unique());
        scene.tell("name", &name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        scene.hold(UnixListener::bind_addr(&address).unwrap());
    },
    attempt: |aim| {
        let address = SocketAddr::from_abstract_name(aim.fact("name"))?;
        done(UnixStream::connect_addr(&address))
    },
    reached: |scene, _| {
        let listener = scene.held::<UnixListener>();
        listener.set_nonblocking(true).unwrap();
        listener.accept().is_ok()
    },
    refused: &[Reason::Errno(libc::ECONNREFUSED)],
    locks: &[&[NetworkNamespace], &[Landlock]],
    landlock_since: 6,
    ..Attack::CALL
};
