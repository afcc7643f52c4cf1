//! What an interpreter is made from, and for whom it may work.

use std::ffi::OsString;

use super::interpreter::InterpreterKind;
use crate::call::{Argv, CallId};
use crate::gate::{OpenProgram, ProgramWork, StandardInput, StartFolder};
use crate::outcome::{Failure, FailureKind};
use crate::plan::ops::{Op, Watch};
use crate::plan::{Description, ProgramPlan, Terms};

/// Equal for calls that may use the same interpreter: all that its box was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InterpreterKey {
    pub(super) kind: InterpreterKind,
    program: (u64, u64, i64, i64),
    description: Description,
    terms: Terms,
    pub(super) stamp: Vec<u8>,
}

impl InterpreterKey {
    /// That of a call whose box would cover what the stamp says.
    pub(super) fn of(
        plan: &ProgramPlan,
        kind: InterpreterKind,
        stamp: &[u8],
    ) -> Result<Self, Failure> {
        let cleared = plan.cleared();
        let program = rustix::fs::fstat(&cleared.opened()?.handle)
            .map_err(|errno| Failure::new(FailureKind::ReadInterpreter, errno.to_string()))?;
        let mut description = plan.description().clone();
        // The host holds these, call by call.
        let is_of_call =
            |op: &Op| matches!(op, Op::Watch(Watch::Deadline(_) | Watch::Output { .. }));
        description.ops.retain(|op| !is_of_call(op));
        Ok(Self {
            kind,
            program: (
                program.st_dev,
                program.st_ino,
                program.st_ctime,
                i64::try_from(program.st_ctime_nsec).unwrap_or_default(),
            ),
            description,
            terms: plan.terms().clone(),
            stamp: stamp.to_vec(),
        })
    }
}

/// All that another interpreter of the same kind is made from. It holds no code and no permit.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) key: InterpreterKey,
    pub(super) description: Description,
    pub(super) terms: Terms,
    program: OpenProgram,
}

impl Recipe {
    /// From the plan of a call.
    pub(super) fn of(plan: &ProgramPlan, key: InterpreterKey) -> Result<Self, Failure> {
        let cleared = plan.cleared();
        Ok(Self {
            key,
            description: plan.description().clone(),
            terms: plan.terms().clone(),
            program: held(cleared.opened()?)?,
        })
    }

    /// The interpreter, with what it is to do.
    pub(super) fn cleared(&self) -> Result<ProgramWork, Failure> {
        let words = self.key.kind.words().into_iter().map(OsString::from).collect();
        let argv = Argv::parse(words)
            .map_err(|bad| Failure::new(FailureKind::StartInterpreter, bad.to_string()))?;
        Ok(ProgramWork {
            call: CallId::new(),
            argv,
            stdin: StandardInput::Piped(Vec::new()),
            merges_output: false,
            terminal: None,
            session: None,
            program: Some(held(&self.program)?),
            folder: StartFolder::Scratch,
            tier: None,
        })
    }
}

fn held(program: &OpenProgram) -> Result<OpenProgram, Failure> {
    program
        .try_clone()
        .map_err(|error| Failure::new(FailureKind::HoldInterpreter, error.to_string()))
}
