//! Each operation of the jail without namespaces counts.

use std::time::Duration;

use super::*;
use crate::call::{Argv, CallId};
use crate::gate::{OpenProgram, StandardInput, StartFolder};
use crate::launch::setup::testing::{MACHINE, confinement, each_counts};
use crate::launch::spec::environment;
use crate::plan::describe::without_namespaces;

#[test]
fn each_operation_counts() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let confinement = confinement(folder.path(), Kept::None);
    let ops = without_namespaces(Tier::Jail, &confinement, MACHINE).unwrap().ops;
    let cleared = ProgramWork {
        call: CallId::new(),
        argv: Argv::parse(vec!["true".into()]).unwrap(),
        stdin: StandardInput::Piped(Vec::new()),
        merges_output: false,
        terminal: None,
        session: None,
        program: Some(OpenProgram {
            handle: std::fs::File::open("/bin/true").unwrap().into(),
            script: None,
            path: "/bin/true".into(),
            found_at: "/bin/true".into(),
        }),
        folder: StartFolder::Scratch,
        tier: None,
    };
    each_counts(&ops, |ops| {
        let setup = WithoutNamespacesSetup::of(ops)?;
        let common = &setup.common;
        let cover = masks::find(common, Instant::now() + Duration::from_secs(60))?;
        let jail = setup.jail(&cleared, scratch.path())?;
        let own = &common.files.own;
        let environment = environment(common, Some(scratch.path()), &GitSettings::default())?;
        let Setup { rlimits, limits, cgroup, scratch, signal_scope, .. } = common;
        let rest = (environment, rlimits, limits, cgroup, scratch, signal_scope, own);
        Ok(format!("{jail:?} {rest:?} {cover:?} {:?}", common.files.toolchains))
    });
}
