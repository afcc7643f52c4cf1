//! 53: listens under a name without a path, for a program outside that connects.

use std::io::Error;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use stockade_sandbox::Mechanism::NetworkNamespace;

use crate::support::{Attack, Meanwhile, Reason, done, within};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 53,
    plant: |scene| {
        let name = scene.unique();
        scene.tell("name", &name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        scene.hold(Meanwhile::new(move || UnixStream::connect_addr(&address).is_ok()));
    },
    attempt: |aim| {
        let address = SocketAddr::from_abstract_name(aim.fact("name"))?;
        let listener = UnixListener::bind_addr(&address)?;
        listener.set_nonblocking(true)?;
        let came = within(Duration::from_secs(1), || listener.accept().is_ok());
        if came { done(Ok(())) } else { Err(Error::other("nobody came")) }
    },
    reached: |scene, _| scene.held::<Meanwhile>().has_happened(),
    refused: &[Reason::Nothing],
    // Landlock scopes who connects, and that is not the box.
    locks: &[&[NetworkNamespace]],
    ..Attack::CALL
};
