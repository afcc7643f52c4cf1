//! A plan with every operation, and a check that each of them counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::confine::{
    Confinement, Files, Keep, ListedChanges, Network, Oci, Origin, OwnKind, OwnPath, PathPattern,
    Ports, ToolchainPath,
};
use crate::guarantee::{Guarantee, Kept};
use crate::limits::{ByteCount, Limits};
use crate::outcome::Failure;
use crate::pattern::{PathGlob, PathPart};
use crate::plan::ops::Op;
use crate::tier::Machine;

/// A machine that can do everything.
pub(in crate::launch) const MACHINE: Machine = Machine {
    landlock_abi: Some(7),
    signal_scope: true,
    is_root: false,
    supervisor_hidden: true,
    refuses_names: true,
    bounds_address_space: true,
};

/// A project with something for every operation, and what a run may do there.
pub(in crate::launch) fn confinement(root: &Path, protected: Kept) -> Confinement {
    for folder in [".claude/worktrees", "data", "hidden", "deep/protected", "tools/bin", "own"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in ["hidden/a", "deep/protected/a", "key.pem", "own/state"] {
        fs::write(root.join(file), "").unwrap();
    }
    let pattern = |keep, name: &str| {
        let glob = PathGlob::new(vec![PathPart::Deep, PathPart::new(name)]);
        PathPattern::new(keep, root.to_owned(), glob, format!("Read(**/{name})")).unwrap()
    };
    let links = vec![("tools".into(), root.join("tools"))];
    let own =
        OwnPath { path: root.join("own"), keep: Keep::Hidden, kind: OwnKind::Folder, link: None };
    Confinement {
        limits: Limits {
            wall: Duration::from_secs(7),
            cpu: Some(Duration::from_secs(5)),
            cpus: Some("1.5".parse().unwrap()),
            memory: Some(ByteCount::gib(1)),
            processes: Some(9),
            ..Limits::EXEC
        },
        environment: vec![("PATH".into(), "/bin".into())],
        require: BTreeMap::from([(Guarantee::Protected, protected)]),
        shared_network: None,
        files: Files {
            root: root.to_owned(),
            write: vec![root.to_owned()],
            read: vec!["/var/lib".into()],
            toolchains: vec![ToolchainPath { path: root.join("tools"), links }],
            agent: None,
            hide: vec![root.join("hidden"), root.join("own")],
            protect: vec![root.join("deep/protected"), root.join(".claude"), root.join("absent")],
            untrusted: Vec::new(),
            sought: [pattern(Keep::Hidden, "key.pem"), pattern(Keep::Protected, "none")].into(),
            unkept: [(Keep::Hidden, Origin::Trusted, "Read(/x)".to_owned())].into(),
            own: [own].into(),
            watched: ListedChanges::Risky,
        },
        network: Network::None,
        ports: Ports::default(),
        oci: Oci { image: Some("localhost/tools".parse().unwrap()), ..Oci::default() },
        session: None,
        hints: Vec::new(),
    }
}

/// Takes each operation out in turn: what is made of the rest must be something else, or nothing.
pub(in crate::launch) fn each_counts(ops: &[Op], made: impl Fn(&[Op]) -> Result<String, Failure>) {
    let text = |ops: &[Op]| {
        let survey = ops.iter().find(|op| matches!(op, Op::Survey(_)));
        made(ops).map(|made| format!("{survey:?} {}", without_numbers(&made)))
    };
    let all = text(ops).unwrap();
    assert!(text(ops).unwrap() == all, "what is made of the same differs: {all}");
    for (at, op) in ops.iter().enumerate() {
        let rest: Vec<Op> = ops
            .iter()
            .enumerate()
            .filter(|(one, _)| *one != at)
            .map(|(_, op)| op.clone())
            .collect();
        assert!(text(&rest).ok().as_ref() != Some(&all), "nothing is made of: {op}");
    }
}

/// The text without the numbers of descriptors.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split("fd: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "fd: _" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}
