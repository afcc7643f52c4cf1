//! Each operation of a sandbox of `runsc` counts.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::guarantee::Kept;
use crate::launch::git::GitSettings;
use crate::launch::gvisor::bundle::Bundle;
use crate::launch::gvisor::{Places, find_masks, make_scratch, words};
use crate::launch::setup::testing::{MACHINE, confinement, each_counts};
use crate::launch::shown::{self, EmptyOverlays, System};
use crate::plan::describe::of_tier;

#[test]
fn each_operation_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut confinement = confinement(folder.path(), Kept::None);
    confinement.oci.image = None;
    let ops = of_tier(Tier::Gvisor, &confinement, MACHINE).unwrap().ops;
    each_counts(&ops, |ops| {
        let setup = GvisorSetup::of(ops)?;
        let common = &setup.common;
        let scratch = make_scratch(common)?;
        let cover = find_masks(common, Instant::now() + Duration::from_secs(60))?;
        let covers = EmptyOverlays::create(&scratch)?;
        let cwd = Path::new("/");
        let binds = shown::binds(common, &cover, (&covers, cwd), System::OfMachine)?;
        let user = if setup.has_other_user { (1, 1) } else { (0, 0) };
        let git = GitSettings::default();
        let bundle = Bundle { argv: &["x".into()], cwd, user, binds: &binds, git, image: None };
        bundle.write(scratch.path(), &setup)?;
        let bundle = std::fs::read_to_string(scratch.path().join("bundle/config.json")).unwrap();
        let words = words(&Places::of(scratch.path()), "systrap", common.network);
        let Setup { limits, cgroup, files, .. } = common;
        let rest = (limits, cgroup, &files.own, cover.gaps, cover.absent);
        let text = format!("{bundle} {words:?} {rest:?}");
        let name = scratch.path().file_name().unwrap().to_str().unwrap();
        let text = text.replace(&format!("{}", scratch.path().display()), "SCRATCH");
        Ok(text.replace(name, "NAME"))
    });
}
