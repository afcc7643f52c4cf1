//! What an interpreter is made from, and for whom it may work.

use std::ffi::OsString;
use std::time::Duration;

use super::interpreter::Kind;
use crate::call::{Argv, CallId};
use crate::confine::Confinement;
use crate::gate::{Cleared, Folder, Opened, StandardInput};
use crate::limits::ByteCount;
use crate::outcome::Failure;
use crate::plan::ProgramPlan;
use crate::tier::{Description, Step};

/// Equal for calls that may use the same interpreter: all that its box was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: Kind,
    program: (u64, u64, i64, i64),
    confinement: Confinement,
    description: Description,
    pub(super) stamp: Vec<u8>,
}

impl Key {
    /// That of a call whose box would cover what the stamp says.
    pub(super) fn of(plan: &ProgramPlan, kind: Kind, stamp: &[u8]) -> Result<Self, Failure> {
        let cleared = &plan.prepared().cleared;
        let program = rustix::fs::fstat(&cleared.opened()?.handle)
            .map_err(|errno| Failure::new("look at the interpreter", errno.to_string()))?;
        let mut confinement = plan.prepared().confinement.clone();
        // The host holds these, call by call.
        confinement.limits.wall = Duration::ZERO;
        confinement.limits.output = ByteCount::bytes(0);
        confinement.limits.flood = ByteCount::bytes(0);
        let mut description = plan.description().clone();
        description.steps.retain(|step| !matches!(step, Step::Deadline(_) | Step::Capture(_)));
        Ok(Self {
            kind,
            program: (
                program.st_dev,
                program.st_ino,
                program.st_ctime,
                i64::try_from(program.st_ctime_nsec).unwrap_or_default(),
            ),
            confinement,
            description,
            stamp: stamp.to_vec(),
        })
    }
}

/// All that another interpreter of the same kind is made from. It holds no code and no permit.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) key: Key,
    pub(super) confinement: Confinement,
    pub(super) description: Description,
    program: Opened,
}

impl Recipe {
    /// From the plan of a call.
    pub(super) fn of(plan: &ProgramPlan, key: Key) -> Result<Self, Failure> {
        let cleared = &plan.prepared().cleared;
        Ok(Self {
            key,
            confinement: plan.prepared().confinement.clone(),
            description: plan.description().clone(),
            program: held(cleared.opened()?)?,
        })
    }

    /// The interpreter, with what it is to do.
    pub(super) fn cleared(&self) -> Result<Cleared, Failure> {
        let words = self.key.kind.words().into_iter().map(OsString::from).collect();
        let argv = Argv::parse(words)
            .map_err(|bad| Failure::new("start the interpreter", bad.to_string()))?;
        Ok(Cleared {
            call: CallId::new(),
            argv,
            stdin: StandardInput::Piped(Vec::new()),
            program: Some(held(&self.program)?),
            folder: Folder::Scratch,
            tier: None,
        })
    }
}

fn held(program: &Opened) -> Result<Opened, Failure> {
    program.try_clone().map_err(|error| Failure::new("hold the interpreter", error.to_string()))
}
