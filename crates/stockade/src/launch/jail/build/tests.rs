//! Each operation of the jail counts.

use std::time::{Duration, Instant};

use super::*;
use crate::guarantee::Kept;
use crate::launch::git::GitSettings;
use crate::launch::jail::masks;
use crate::launch::setup::testing::{MACHINE, confinement, each_counts};
use crate::launch::spec::environment;
use crate::plan::describe::of_tier;

#[test]
fn each_operation_counts() {
    let folder = tempfile::tempdir().unwrap();
    for protected in [Kept::Detected, Kept::Full] {
        let confinement = confinement(folder.path(), protected);
        let ops = of_tier(Tier::Jail, &confinement, MACHINE).unwrap().ops;
        each_counts(&ops, |ops| {
            let setup = JailSetup::of(ops)?;
            let common = &setup.common;
            let until = Instant::now() + Duration::from_secs(60);
            let cover = masks::find(common, until)?;
            let jail = setup.jail(c"/bin/true", &cover, None)?;
            let environment = environment(common, None, &GitSettings::default())?;
            let Setup { rlimits, limits, cgroup, files, .. } = common;
            // A directory is made for one's own path before a program could make it.
            let rest = (environment, rlimits, limits, cgroup, &files.own, cover.gaps);
            Ok(format!("{jail:?} {rest:?}"))
        });
    }
}
