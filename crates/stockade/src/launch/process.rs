//! The `process` tier, applied.

use std::time::Instant;

use stockade_linux::{Spec, Stdin};

use super::held::{Held, environment, not_started, rlimits};
use super::scratch::Scratch;
use crate::gate::Prepared;
use crate::guarantee::Guarantee;
use crate::outcome::Failure;
use crate::plan::Plan;
use crate::tier::{Description, Step};

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: Plan) -> Result<Held, Failure> {
    let (prepared, description, _) = plan.into_parts();
    let Description { steps, enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let scratch = Scratch::make().map_err(|error| {
        Failure::new("make the scratch folder", error.to_string())
            .remedy("make room in the folder for temporary files, or name another with TMPDIR")
    })?;
    let signal_scope = if steps.contains(&Step::SignalScope) {
        stockade_linux::signal_scope().map_err(|error| no_signal_scope(&error))?
    } else {
        None
    };
    let own_folder = scratch.path().as_os_str();
    let spec = Spec {
        program: cleared.program,
        script: cleared.script,
        argv: cleared.argv.to_c_strings(),
        env: environment(&confinement, own_folder, own_folder)?,
        cwd: cleared.cwd,
        stdin: if cleared.stdin.is_empty() { Stdin::Empty } else { Stdin::Piped },
        rlimits: rlimits(&confinement)?,
        processes_max: confinement.limits.processes,
        signal_scope,
    };
    let dies_at_once = spec.signal_scope.is_some();
    let started = Instant::now();
    let running = stockade_linux::start(spec).map_err(not_started)?;
    Ok(Held {
        running,
        scratch: Some(scratch),
        started,
        stdin: cleared.stdin,
        confinement,
        tier,
        enforcement,
        covered: Vec::new(),
        absent: Vec::new(),
        disk: None,
        dies_at_once,
    })
}

fn no_signal_scope(error: &std::io::Error) -> Failure {
    let mut failure = Failure::new("keep signals within the tree", error.to_string());
    failure.guarantee = Some(Guarantee::Processes.to_string());
    failure
}
