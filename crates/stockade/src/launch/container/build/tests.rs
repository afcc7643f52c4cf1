//! Each operation of a container counts.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::confine::{EngineName, Pull};
use crate::guarantee::Kept;
use crate::launch::container::args::{self, ContainerRequest};
use crate::launch::container::{find_masks, make_scratch};
use crate::launch::git::GitSettings;
use crate::launch::setup::testing::{MACHINE, confinement, each_counts};
use crate::launch::shown::{self, EmptyOverlays, System};
use crate::launch::spec::environment;
use crate::plan::describe::of_tier;

#[test]
fn each_operation_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut confinement = confinement(folder.path(), Kept::None);
    confinement.oci.runtime = Some("runsc".to_owned());
    confinement.oci.pull = Pull::Missing;
    for warm in [None, NonZeroU32::new(3)] {
        confinement.oci.warm = warm;
        let ops = of_tier(Tier::Container, &confinement, MACHINE).unwrap().ops;
        each_counts(&ops, |ops| {
            let setup = ContainerSetup::of(ops)?;
            let common = &setup.common;
            let scratch = make_scratch(common)?;
            let cover = find_masks(common, Instant::now() + Duration::from_secs(60))?;
            let covers = EmptyOverlays::create(&scratch)?;
            let cwd = Path::new("/");
            let binds = shown::binds(common, &cover, (&covers, cwd), System::OfImage)?;
            let wanted = ContainerRequest {
                name: "name",
                labels: Vec::new(),
                user: setup.has_other_user.then_some((1, 1)),
                binds: &binds,
                variables: None,
                pidfile: "/pid".into(),
                cwd,
                reads_stdin: false,
                argv: Vec::new(),
            };
            let flags = args::create(EngineName::Docker, &wanted, &setup);
            let environment = environment(common, None, &GitSettings::default())?;
            let Setup { limits, files, .. } = common;
            let rest = (environment, limits, setup.oci.warm, &files.own, cover.gaps, cover.absent);
            let text = format!("{flags:?} {rest:?}");
            Ok(text.replace(&format!("{}", scratch.path().display()), "SCRATCH"))
        });
    }
}
