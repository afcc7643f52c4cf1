//! 53: listens under a name without a path, for a program outside that connects.

use std::fs::{self, OpenOptions};
use std::io::{Error, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use stockade_sandbox::Mechanism::NetworkNamespace;

use crate::support::{Attack, Meanwhile, PATIENCE, Reason, done, within};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 53,
    plant: |scene| {
        let name = scene.unique();
        scene.tell("name", &name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let tries = scene.at("project/tries");
        scene.hold(Meanwhile::new(move || {
            let came = UnixStream::connect_addr(&address).is_ok();
            let mut file = OpenOptions::new().create(true).append(true).open(&tries).unwrap();
            file.write_all(b".").unwrap();
            came
        }));
    },
    attempt: |aim| {
        let address = SocketAddr::from_abstract_name(aim.fact("name"))?;
        let listener = UnixListener::bind_addr(&address)?;
        listener.set_nonblocking(true)?;
        // The harness tries again and again, and leaves a mark each time.
        let tries = || fs::metadata(aim.project("tries")).map_or(0, |tries| tries.len());
        let before = tries();
        let mut came = false;
        within(PATIENCE, || {
            let is_enough = tries() > before + 2;
            came = listener.accept().is_ok();
            came || is_enough
        });
        if came { done(Ok(())) } else { Err(Error::other("nobody came")) }
    },
    reached: |scene, _| scene.held::<Meanwhile>().has_happened(),
    refused: &[Reason::Nothing],
    // Landlock scopes who connects, and that is not the box.
    locks: &[&[NetworkNamespace]],
    ..Attack::CALL
};
