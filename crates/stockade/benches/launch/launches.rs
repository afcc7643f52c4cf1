//! Everything that launches the program, one beside the other.

use std::path::{Path, PathBuf};

use stockade::confine::Network;
use stockade::launch::PoolSize;
use stockade::tier::Tier;

use crate::command::{self, Installed};
use crate::floor::{Floor, compile};
use crate::ground::{Ground, PROGRAM, call, in_tier, spawn};
use crate::peers::{self, Peer};
use crate::role::first_call;
use crate::spare;
use crate::stats::{Contestant, Kind, Row, Target};

pub(crate) const BARE: &str = "bare spawn of `/bin/true`";

/// All of them.
pub(crate) struct Launches<'a> {
    /// Those that are measured in turn.
    pub(crate) together: Vec<Contestant<'a>>,
    /// Those that have to be measured apart, for they would make each later call a first one.
    pub(crate) apart: Vec<Contestant<'a>>,
    /// A line about each that is not there.
    pub(crate) missing: Vec<String>,
}

pub(crate) fn all(ground: &Ground) -> Launches<'_> {
    let mut together = vec![bare()];
    let (floors, mut missing) = floors(ground);
    together.extend(floors);
    let (commands, unbuilt) = command::installed(ground);
    together.extend(commands.iter().map(Installed::version));
    missing.extend(unbuilt);
    together.extend([
        first("very first call, own network namespace", Network::Loopback, ground),
        first("very first call, the host's network", Network::Host, ground),
    ]);
    together.extend(library(ground));
    together.push(spare::handed_over(ground));
    together.extend(commands.iter().flat_map(|command| command.runs(ground)));
    let (peers, unusable) = peers::found(ground);
    missing.extend(unusable);
    let contestant =
        |Peer { name, argv, .. }| Contestant::new(name, Kind::Peer, None, move || spawn(&argv));
    let (mounting, others): (Vec<Peer>, Vec<Peer>) =
        peers.into_iter().partition(|peer| peer.mounts);
    together.extend(others.into_iter().map(contestant));
    let apart = mounting.into_iter().map(contestant).collect();
    Launches { together, apart, missing }
}

/// The measure of all others.
pub(crate) fn bare<'a>() -> Contestant<'a> {
    Contestant::new(BARE, Kind::Floor, None, || spawn(&[PROGRAM]))
}

/// The library in one process, call after call, as warm as it can be.
pub(crate) fn library(ground: &Ground) -> Vec<Contestant<'_>> {
    let warm = |name: &str, pool| ground.open_warm(name, pool);
    let process = ground.open("process", in_tier(Tier::Process));
    let cold = warm("cold", PoolSize::NoTemplates);
    let copied = warm("copied", PoolSize::Templates { spares: 0 });
    let waiting = warm("waiting", PoolSize::Templates { spares: 2 });
    let ours =
        |name, target, once: Box<dyn FnMut()>| Contestant::new(name, Kind::Ours, target, once);
    vec![
        ours("library, process tier", None, Box::new(move || call(&process))),
        ours("library, every box made from nothing", None, Box::new(move || call(&cold))),
        ours(
            "library, later call: a copy of the template",
            Some(Target::Bare(2.4)),
            Box::new(move || call(&copied)),
        ),
        ours(
            "library, later call: a box that waits",
            Some(Target::Bare(2.0)),
            Box::new(move || call(&waiting)),
        ),
    ]
}

/// The first call of a process, with and without the opening.
fn first<'a>(name: &str, network: Network, ground: &Ground) -> Contestant<'a> {
    let project = ground.project();
    let row = |name: String, kind, target| Row { name, kind, target };
    Contestant {
        rows: vec![
            row(format!("library, {name}"), Kind::Ours, None),
            row(format!("— of that, `Stockade::run` ({name})"), Kind::Part, None),
        ],
        once: Box::new(move || first_call(network, &project)),
    }
}

/// What a program of its own costs before it does anything.
fn floors<'a>(ground: &Ground) -> (Vec<Contestant<'a>>, Vec<String>) {
    let (mut floors, mut missing) = (Vec::new(), Vec::new());
    match static_program(&ground.folder("static")) {
        Ok(program) => floors.push(Contestant::new(
            "bare spawn of a static program that does nothing",
            Kind::Floor,
            None,
            move || spawn(&[&program]),
        )),
        Err(why) => missing.push(format!("a static program that does nothing: {why}")),
    }
    match Floor::build(ground) {
        Ok(floor) => floors.extend(floor.contestants()),
        Err(why) => missing.push(format!("the floor: {why}")),
    }
    (floors, missing)
}

fn static_program(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("nothing.c"), folder.join("nothing"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    compile(&source, &program).map(|()| program)
}
