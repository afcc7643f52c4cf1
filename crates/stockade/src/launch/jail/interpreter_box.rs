//! A box with an interpreter of ours in it, which waits there for calls.

use std::time::{Duration, Instant};

use stockade_sandbox::{Program, Running, SandboxPool, Stdin};

use super::enforcement::require_kept;
use super::fallback::Unavailable;
use super::unenforced::UnenforcedRules;
use super::{CreatedPaths, JailSetup, MaskedPath, admit_shipped, kept_by, make, masks};
use crate::gate::ProgramWork;
use crate::guarantee::Enforced;
use crate::launch::absent::{self, Absent, Writable};
use crate::launch::git::GitSettings;
use crate::launch::ports::{OpenPorts, TakenPortPolicy};
use crate::launch::session::JoinedCall;
use crate::launch::spec::{added, not_started, spec};
use crate::outcome::Failure;
use crate::plan::Requirements;
use crate::plan::ops::Op;

/// How long the look at the project may take for an interpreter.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What is to be put into a box.
pub(in crate::launch) struct InterpreterRequest<'a> {
    pub(in crate::launch) cleared: ProgramWork,
    pub(in crate::launch) stdin: Stdin,
    /// What holds for the interpreter: it is a process more, and outlives its calls.
    pub(in crate::launch) setup: JailSetup,
    /// What is enforced for calls, and what is required for them.
    pub(in crate::launch) enforcement: Vec<Enforced>,
    pub(in crate::launch) require: &'a Requirements,
    pub(in crate::launch) counts_cpu: bool,
    /// The session whose interpreter it is.
    pub(in crate::launch) joined: Option<&'a JoinedCall>,
}

/// An interpreter in its box.
pub(in crate::launch) struct InterpreterBox {
    pub(in crate::launch) running: Running,
    /// Whom its streams have to belong to.
    pub(in crate::launch) owner: Option<(u32, u32)>,
    pub(in crate::launch) enforcement: Vec<Enforced>,
    /// Which files the box covers.
    pub(in crate::launch) stamp: Vec<u8>,
    /// The ports that lead into it and out of it.
    pub(in crate::launch) ports: Option<OpenPorts>,
}

/// Makes the box and starts the interpreter there, if the box keeps all that is required.
pub(in crate::launch) fn start_interpreter(
    request: InterpreterRequest<'_>,
    pool: &SandboxPool,
) -> Result<InterpreterBox, Failure> {
    let InterpreterRequest { cleared, stdin, setup, enforcement, require, counts_cpu, joined } =
        request;
    // It is made for calls to come, none of which waits for it.
    let until = Instant::now().checked_add(TIME_MAX).unwrap_or_else(Instant::now);
    let made = make((&cleared, until), &setup, pool, joined).map_err(Unavailable::into_failure)?;
    let enforcement = kept_by(&made, enforcement, (require, counts_cpu))?;
    let taken = if joined.is_some() { TakenPortPolicy::Note } else { TakenPortPolicy::Fail };
    let ports = OpenPorts::open(&setup.ports, &made.ready, taken)?;
    let git = GitSettings::for_cover(&made.cover);
    let mut spec = spec(&cleared, added(&setup.common, None, &git, made.ready.cgroup())?)?;
    spec.stdin = stdin;
    let (owner, stamp) = (made.ready.owner(), made.cover.stamp());
    let program = Program { spec, path: made.program, folder: made.folder };
    let running = made.ready.run(program).map_err(not_started)?;
    Ok(InterpreterBox { running, owner, enforcement, stamp, ports })
}

/// The hidden and protected paths as they are now.
pub(in crate::launch) struct PathState {
    pub(in crate::launch) stamp: Vec<u8>,
    pub(in crate::launch) covered: Vec<MaskedPath>,
    pub(in crate::launch) absent: Vec<Absent>,
    pub(in crate::launch) since: Option<CreatedPaths>,
    gaps: UnenforcedRules,
}

impl PathState {
    /// What a box keeps, after what was found of its files now, if that is all that is required.
    pub(in crate::launch) fn admit(
        &self,
        mut enforcement: Vec<Enforced>,
        require: &Requirements,
    ) -> Result<Vec<Enforced>, Failure> {
        self.gaps.record(&mut enforcement);
        require_kept(&enforcement, require)?;
        admit_shipped(&mut enforcement, &self.covered, &self.gaps);
        Ok(enforcement)
    }
}

/// Looks at what a box for this would cover, and would have to watch for.
pub(in crate::launch) fn path_state(ops: &[Op], until: Instant) -> Result<PathState, Failure> {
    let setup = JailSetup::of(ops)?.common;
    let files = &setup.files;
    let cover = masks::find(&setup, until)?;
    let writable = Writable::of(files)?;
    let absent = absent::watched(&cover.unenforced(), files, &writable)?;
    let (stamp, since) = (cover.stamp(), CreatedPaths::after(files, &cover, &writable));
    Ok(PathState { stamp, covered: cover.present, absent, since, gaps: cover.gaps })
}
