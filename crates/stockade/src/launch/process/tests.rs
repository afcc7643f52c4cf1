//! Each operation of the process tier counts.

use std::path::Path;

use super::*;
use crate::guarantee::Kept;
use crate::launch::setup::testing::{MACHINE, confinement, each_counts};
use crate::launch::spec::environment;
use crate::plan::describe::of_tier;

#[test]
fn each_operation_counts() {
    let folder = tempfile::tempdir().unwrap();
    let confinement = confinement(folder.path(), Kept::None);
    let ops = of_tier(Tier::Process, &confinement, MACHINE).unwrap().ops;
    each_counts(&ops, |ops| {
        let setup = setup(ops)?;
        let environment = environment(&setup, Some(Path::new("/s")), &GitSettings::default())?;
        let Setup { rlimits, limits, scratch, signal_scope, .. } = setup;
        Ok(format!("{:?}", (environment, rlimits, limits, scratch, signal_scope)))
    });
}
