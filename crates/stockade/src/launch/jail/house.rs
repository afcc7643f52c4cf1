//! A box with an interpreter of ours in it, which waits there for calls.

use std::time::{Duration, Instant};

use stockade_linux::{Program, Running, Stdin, Yard};

use super::forms::NotBoxed;
use super::gaps::Gaps;
use super::kept::require_kept;
use super::{Covered, MadeSince, added, admit_shipped, cover, kept_by, make};
use crate::confine::Confinement;
use crate::gate::Cleared;
use crate::guarantee::Enforced;
use crate::launch::absent::{self, Absent, Writable};
use crate::launch::spec::{not_started, spec};
use crate::outcome::Failure;
use crate::tier::Description;

/// How long the look at the project may take for an interpreter.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What is to be put into a box.
pub(in crate::launch) struct House<'a> {
    pub(in crate::launch) cleared: Cleared,
    pub(in crate::launch) stdin: Stdin,
    /// What holds for the interpreter: it is a process more, and outlives its calls.
    pub(in crate::launch) own: &'a Confinement,
    /// What holds for calls.
    pub(in crate::launch) asked: &'a Confinement,
    pub(in crate::launch) description: Description,
}

/// An interpreter in its box.
pub(in crate::launch) struct Housed {
    pub(in crate::launch) running: Running,
    /// Whom its streams have to belong to.
    pub(in crate::launch) owner: Option<(u32, u32)>,
    pub(in crate::launch) enforcement: Vec<Enforced>,
    /// Which files the box covers.
    pub(in crate::launch) stamp: Vec<u8>,
}

/// Makes the box and starts the interpreter there, if the box keeps all that is required.
pub(in crate::launch) fn house(house: House<'_>, yard: &Yard) -> Result<Housed, Failure> {
    let House { cleared, stdin, own, asked, description } = house;
    // It is made for calls to come, none of which waits for it.
    let until = Instant::now().checked_add(TIME_MAX).unwrap_or_else(Instant::now);
    let made =
        make((&cleared, until), own, &description.steps, yard).map_err(NotBoxed::into_failure)?;
    let enforcement = kept_by(&made, description.enforcement, asked)?;
    let mut spec = spec(&cleared, added(made.ready.cgroup(), own, &made.cover)?)?;
    spec.stdin = stdin;
    let (owner, stamp) = (made.ready.owner(), made.cover.stamp());
    let program = Program { spec, path: made.program, folder: made.folder };
    let running = made.ready.run(program).map_err(not_started)?;
    Ok(Housed { running, owner, enforcement, stamp })
}

/// The hidden and protected paths as they are now.
pub(in crate::launch) struct Surroundings {
    pub(in crate::launch) stamp: Vec<u8>,
    pub(in crate::launch) covered: Vec<Covered>,
    pub(in crate::launch) absent: Vec<Absent>,
    pub(in crate::launch) since: Option<MadeSince>,
    gaps: Gaps,
}

impl Surroundings {
    /// What a box keeps, after what was found of its files now, if that is all that is required.
    pub(in crate::launch) fn admit(
        &self,
        mut enforcement: Vec<Enforced>,
        asked: &Confinement,
    ) -> Result<Vec<Enforced>, Failure> {
        self.gaps.admit(&mut enforcement);
        require_kept(&enforcement, asked)?;
        admit_shipped(&mut enforcement, &self.covered, &self.gaps);
        Ok(enforcement)
    }
}

/// Looks at what a box for this would cover, and would have to watch for.
pub(in crate::launch) fn surroundings(
    confinement: &Confinement,
    until: Instant,
) -> Result<Surroundings, Failure> {
    let files = &confinement.files;
    let cover = cover::look(files, until)?;
    let writable = Writable::of(files)?;
    let absent = absent::watched(&cover.unenforced(), files, &writable)?;
    let (stamp, since) = (cover.stamp(), MadeSince::after(files, &cover, &writable));
    Ok(Surroundings { stamp, covered: cover.present, absent, since, gaps: cover.gaps })
}
