//! The `process` tier, applied.

use std::time::Instant;

use super::git::GitSettings;
use super::held::Held;
use super::scratch::{Room, Scratch, unscratched};
use super::spec::{Added, environment, input, not_started, rlimits, signal_scope, spec};
use super::subject::Subject;
use crate::gate::Prepared;
use crate::outcome::Failure;
use crate::plan::ProgramPlan;
use crate::tier::Description;

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: ProgramPlan) -> Result<Held, Failure> {
    let (prepared, description, _) = plan.into_parts();
    let Description { steps, enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let scratch =
        Scratch::make(Room::Much, Some(&confinement.files)).map_err(|error| unscratched(&error))?;
    let own_folder = scratch.path().as_os_str();
    let added = Added {
        env: environment(&confinement, own_folder, own_folder, &GitSettings::default())?,
        rlimits: rlimits(&confinement)?,
        processes_max: confinement.limits.processes,
        signal_scope: signal_scope(&steps)?,
        scratch: scratch.path().to_owned(),
    };
    let spec = spec(&cleared, added)?;
    let dies_at_once = spec.signal_scope.is_some();
    let started = Instant::now();
    let running = stockade_linux::start(spec).map_err(not_started)?;
    Ok(Held {
        subject: Subject::from(running),
        scratch: Some(scratch),
        started,
        stdin: input(cleared),
        confinement,
        tier,
        enforcement,
        covered: Vec::new(),
        since: None,
        absent: Vec::new(),
        disk: None,
        dies_at_once,
        eye: None,
    })
}
