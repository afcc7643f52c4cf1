//! Golden file of what is attested in containers and on a kernel of their own.

#[path = "../shared/attested.rs"]
mod attested;
#[path = "../../../stockade/tests/shared/golden.rs"]
mod file;
#[path = "../../../stockade/tests/shared/golden_sections.rs"]
mod sections;

use std::collections::BTreeMap;

use crate::support::{Project, Tier, report, skip, stockade};

#[test]
fn every_engine_keeps_what_it_kept_before() {
    let who = if rustix::process::geteuid().is_root() { "root" } else { "user" };
    let mut found = BTreeMap::new();
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        let mut doctor = stockade();
        doctor.args(["doctor", "--json"]);
        let class = format!("{}, {}", attested::class(&report(doctor), who), tier.name());
        let (closed, open) =
            (project.run(&["true"]), project.run_with(&["--net", "host"], &["true"]));
        found.insert(format!("{class}: no network"), attested::kept(&closed));
        found.insert(format!("{class}: host network"), attested::kept(&open));
    }
    attested::hold("attested-oci.txt", found);
}
